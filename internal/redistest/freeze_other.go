//go:build !unix

package redistest

import "errors"

func (p *process) pause() error   { return errors.ErrUnsupported }
func (p *process) unpause() error { return errors.ErrUnsupported }
