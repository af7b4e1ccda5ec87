//! Do old databases become current, once, and new ones stay closed to old programs?

use rusqlite::Connection;

use super::{APPLICATION_ID, Found, STEPS};

const NEXT: &str = "ALTER TABLE session ADD COLUMN note TEXT; UPDATE session SET note = 'from ' || id;";

fn migrate(connection: &mut Connection, steps: &[&str]) -> rusqlite::Result<Found> {
    super::migrate(connection, APPLICATION_ID, steps)
}

fn steps() -> Vec<&'static str> {
    STEPS.iter().copied().chain([NEXT]).collect()
}

#[test]
fn an_older_database_is_brought_forward_once_with_what_it_holds() {
    let mut connection = Connection::open_in_memory().unwrap();
    assert_eq!(migrate(&mut connection, STEPS).unwrap(), Found::Ready);
    connection
        .execute(
            "INSERT INTO session (id, header, length, epoch) VALUES ('s', '{}', 0, 1)",
            [],
        )
        .unwrap();
    for _ in 0..2 {
        assert_eq!(migrate(&mut connection, &steps()).unwrap(), Found::Ready);
        let note: String = connection
            .query_row("SELECT note FROM session", [], |row| row.get(0))
            .unwrap();
        assert_eq!(note, "from s");
    }
    // The program of before refuses what it doesn't know.
    let newer = i64::try_from(STEPS.len() + 1).unwrap();
    assert_eq!(migrate(&mut connection, STEPS).unwrap(), Found::Newer(newer));
}

#[test]
fn a_step_that_fails_leaves_the_old_version() {
    let mut connection = Connection::open_in_memory().unwrap();
    migrate(&mut connection, STEPS).unwrap();
    let broken: Vec<&str> = STEPS.iter().copied().chain([NEXT, "this is no SQL"]).collect();
    assert!(migrate(&mut connection, &broken).is_err());
    assert_eq!(migrate(&mut connection, STEPS).unwrap(), Found::Ready);
    assert!(
        connection
            .query_row("SELECT note FROM session", [], |_| Ok(()))
            .is_err()
    );
}
