package migrate

import (
	"context"
	"database/sql"
	"time"

	"github.com/lockwheel/lockwheel"
)

func withPostgres(ctx context.Context, db *sql.DB, name string, f func(context.Context) error) error {
	conn, err := db.Conn(ctx) // the lock belongs to this connection until it is unlocked
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SET lock_timeout = '5s'`); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock(hashtextextended($1, 0))`, name); err != nil {
		return err
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock(hashtextextended($1, 0))`, name)
	return f(ctx) // is not told when the connection breaks, and the lock is gone
}

func withMySQL(ctx context.Context, db *sql.DB, name string, f func(context.Context) error) error {
	conn, err := db.Conn(ctx) // the lock belongs to this connection until it is released
	if err != nil {
		return err
	}
	defer conn.Close()
	var got sql.NullBool // NULL: an error of the server
	if err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, 5)`, name).Scan(&got); err != nil {
		return err
	}
	if !got.Bool {
		return errBusy
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), `DO RELEASE_LOCK(?)`, name)
	return f(ctx) // is not told when the connection breaks, and the lock is gone
}

var _ = func(ctx context.Context, db *sql.DB, account string) error {
	// Before.
	return withPostgres(ctx, db, "account/"+account, settle)
}

var _ = func(ctx context.Context, db *sql.DB, locks *lockwheel.Engine, account string) error {
	// As long as programs of the old version run.
	return withPostgres(ctx, db, "account/"+account, func(ctx context.Context) error {
		return locks.Mutex("account/"+account).Do(ctx, settle, lockwheel.Wait(5*time.Second))
	})
}

var _ = func(ctx context.Context, locks *lockwheel.Engine, account string) error {
	// After.
	return locks.Mutex("account/"+account).Do(ctx, settle, lockwheel.Wait(5*time.Second))
}

var _ = func(ctx context.Context, db *sql.DB, locks *lockwheel.Engine, account string, balance int) error {
	// The row remembers the greatest token that has written it. A holder that lost the lock and does not know yet
	// changes no row.
	hold, err := locks.FencedMutex("account/" + account).Lock(ctx)
	if err != nil {
		return err
	}
	defer hold.Unlock(ctx)
	changed, err := db.ExecContext(hold.Context(),
		`UPDATE accounts SET balance = $1, token = $2 WHERE id = $3 AND token <= $2`, balance, hold.Token(), account)
	if err != nil {
		return err
	}
	if rows, err := changed.RowsAffected(); err != nil || rows != 1 {
		return lockwheel.ErrLost
	}
	return nil
}

var _ = withMySQL
