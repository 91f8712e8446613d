// Package wire turns batches into EVALSHA commands, and replies into what actors understand. It is the only package
// that knows which arguments each script takes and what it returns: spec.go has one row a verb.
//
// An [Encoder] belongs to one sender. [Encoder.Encode] encodes a batch; the arguments lie in the batch's buffer, which
// is in use until the reply has arrived. [DecodeResult] decodes the reply to a batch into one reply per command. A
// reply that no script produces is malformed: it is never taken for a grant.
//
// This package is not part of lockwheel's API: any version may change it. See docs/versions.md.
package wire
