package lockwheel_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// Encrypted connections of users with minimal permissions.

// TestCA is a certificate authority for one test.
type TestCA struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newTestCA(t *testing.T) *TestCA {
	t.Helper()
	a := &TestCA{t: t, dir: t.TempDir(), pool: x509.NewCertPool()}
	a.cert, a.key = a.sign("authority", nil)
	a.pool.AddCert(a.cert)
	return a
}

// sign writes name.crt and name.key; the first certificate is self-signed.
func (a *TestCA) sign(name string, addresses []net.IP) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  addresses,
		IsCA:         a.cert == nil, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signer, with := a.cert, a.key
	if signer == nil {
		signer, with = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, &key.PublicKey, with)
	require.NoError(a.t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	a.write(name+".crt", "CERTIFICATE", der)
	a.write(name+".key", "PRIVATE KEY", private)
	cert, err := x509.ParseCertificate(der)
	require.NoError(a.t, err)
	return cert, key
}

func (a *TestCA) write(file, kind string, der []byte) {
	a.t.Helper()
	require.NoError(a.t, os.WriteFile(a.path(file), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

func (a *TestCA) path(file string) string { return filepath.Join(a.dir, file) }

// tlsSite returns a server that accepts encrypted connections of clients with a certificate, and its address.
func tlsSite(t *testing.T) (s *Server, addr string, a *TestCA) {
	t.Helper()
	a = ServerCA(t)
	s = RealServer(t, append(a.Secured(), "--user", User, "on", ">"+Password, "~app:*", "&redisson_lock__channel:*",
		"+ping", "+hello", "+client", "+script|load", "+evalsha", "+eval", "+subscribe", "+publish", "+pubsub|numsub",
		"+pttl", "+hset", "+pexpire", "+hexists", "+hkeys", "+hdel", "+hgetall", "+hlen", "+del")...)
	return s, s.Real.SecureAddr(), a
}

func (a *TestCA) Client() *tls.Config {
	a.t.Helper()
	pair, err := tls.LoadX509KeyPair(a.path("client.crt"), a.path("client.key"))
	require.NoError(a.t, err)
	return &tls.Config{RootCAs: a.pool, Certificates: []tls.Certificate{pair}, ServerName: "127.0.0.1"}
}

func TestLocksWorkOverTLSForAUserWithLittle(t *testing.T) {
	t.Parallel()
	s, addr, a := tlsSite(t)
	p := proxy.Start(t, addr)
	opts := lockwheel.Options{
		Prefix:        "app:",
		Lease:         ShortLeaseOptions.Lease,
		RenewInterval: ShortLeaseOptions.RenewInterval,
		Redis:         rueidis.ClientOption{TLSConfig: a.Client(), Username: User, Password: Password},
	}
	holder, waiter := s.OpenAt(p.Addr(), opts), s.OpenAt(addr, opts)
	for range 3 {
		hold := Lock(t, holder.Mutex("n"))
		inner := LockWith(t, hold.Context(), holder.Mutex("n"))
		waiting := Locking(t.Context(), waiter.Mutex("n"))
		RequireWaiting(t, waiter, 1, 1)
		p.Cut()
		GoesOn(t, hold) // on another connection
		require.True(t, s.Exists("app:n"))
		Unlock(t, inner)
		Unlock(t, hold)
		Unlock(t, Granted(t, waiting))
	}
	hold := Lock(t, holder.Mutex("n"))
	ForceUnlock(t, waiter.Mutex("n"))
	RequireLocked(t, waiter.Mutex("n"), false)
	Receive(t, hold.Done())
	RequireIdle(t, waiter)
	require.Zero(t, waiter.Stats().UnpublishedReleases)
}

func TestOpenRefusesAServerThatNobodyVouchesFor(t *testing.T) {
	t.Parallel()
	_, addr, a := tlsSite(t)
	unknown, anonymous := a.Client(), a.Client()
	unknown.RootCAs = x509.NewCertPool()
	anonymous.Certificates = nil
	for name, config := range map[string]*tls.Config{"an authority unknown to us": unknown, "a client without certificate": anonymous, "no TLS": nil} {
		_, err := lockwheel.Open(t.Context(), lockwheel.Options{
			CallTimeout: 2 * time.Second,
			Redis:       rueidis.ClientOption{InitAddress: []string{addr}, TLSConfig: config, Username: User, Password: Password},
		})
		require.Error(t, err, name)
	}
	opts := lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{addr}, TLSConfig: a.Client(), Username: User, Password: "wrong"}}
	_, err := lockwheel.Open(t.Context(), opts)
	require.ErrorContains(t, err, "WRONGPASS")
}
