package locktest

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
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/testport"
)

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

func (a *TestCA) Client() *tls.Config {
	a.t.Helper()
	pair, err := tls.LoadX509KeyPair(a.path("client.crt"), a.path("client.key"))
	require.NoError(a.t, err)
	return &tls.Config{RootCAs: a.pool, Certificates: []tls.Certificate{pair}, ServerName: "127.0.0.1"}
}

// Secured returns the arguments of a server that encrypts its connections to clients, replicas and other nodes. The
// test itself inspects it without encryption.
func (a *TestCA) Secured() []string {
	a.t.Helper()
	port, err := testport.Port()
	require.NoError(a.t, err)
	return []string{
		"--tls-port", strconv.Itoa(port), "--tls-auth-clients", "yes", "--tls-replication", "yes",
		"--tls-cert-file", a.path("server.crt"), "--tls-key-file", a.path("server.key"), "--tls-ca-cert-file", a.path("authority.crt"),
	}
}

func ServerCA(t *testing.T) *TestCA {
	t.Helper()
	a := newTestCA(t)
	a.sign("server", []net.IP{net.IPv4(127, 0, 0, 1)})
	a.sign("client", nil)
	return a
}

// LocksThrough has locks held, waited for and handed over, while a slot moves and a master is replaced.
func (r *ClusterEnv) LocksThrough(t *testing.T, how rueidis.ClientOption) {
	t.Helper()
	open := func() *lockwheel.Engine {
		return OpenRetrying(t, lockwheel.Options{Redis: how, Lease: 12 * time.Second, RenewInterval: 500 * time.Millisecond, CallTimeout: 2 * time.Second})
	}
	holder, waiter := open(), open()
	const moving = 5 // a slot of the first master
	names := append(r.SpreadNames(30), r.Key("m", moving))
	var holds []*lockwheel.Hold
	var waiting []<-chan Outcome
	for _, name := range names {
		holds = append(holds, Lock(t, holder.Mutex(name)))
		waiting = append(waiting, Locking(t.Context(), waiter.Mutex(name)))
	}
	RequireWaiting(t, waiter, int64(len(names)), int64(len(names)))

	m := r.Migrate(t, moving, r.Nodes[1])
	Unlock(t, Lock(t, holder.Mutex(r.Key("other", moving)))) // redirected with ASK
	m.End(t)
	Unlock(t, Lock(t, holder.Mutex(r.Key("other", moving)))) // redirected with MOVED
	require.NotZero(t, r.ErrorCount(t, "ASK"))
	require.NotZero(t, r.ErrorCount(t, "MOVED"))

	master := r.Master(t, 0)
	Replicated(t, master, 1)
	require.NoError(t, master.Kill())
	require.NotSame(t, master, r.Master(t, 0))
	for i, hold := range holds {
		require.NoError(t, hold.Err())
		Unlock(t, hold)
		Unlock(t, Granted(t, waiting[i]))
	}
	RequireIdle(t, holder)
	RequireIdle(t, waiter)
}
