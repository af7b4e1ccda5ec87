//! Can a person talk? On a terminal of their own: streaming, steering, cancelling, leaving, coming back.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::kit::User;
use crate::model::{Model, Piece};

/// How long a test waits for a text to appear.
const PATIENCE: Duration = Duration::from_secs(20);

/// The program on a terminal.
struct Terminal {
    screen: Arc<Mutex<String>>,
    keyboard: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    _master: Box<dyn MasterPty + Send>,
}

impl Terminal {
    fn start(user: &User, arguments: &[&str], model: &Model) -> Self {
        let pair = native_pty_system()
            .openpty(PtySize {
                rows: 40,
                cols: 120,
                pixel_width: 0,
                pixel_height: 0,
            })
            .expect("a terminal");
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_hames"));
        command.args(arguments);
        command.args(model.flags());
        command.env_clear();
        command.env("HOME", user.home());
        command.env("TERM", "xterm");
        command.env("NO_COLOR", "1");
        command.cwd(user.folder());
        let child = pair.slave.spawn_command(command).expect("the program starts");
        let mut reader = pair.master.try_clone_reader().expect("its screen");
        let screen = Arc::new(Mutex::new(String::new()));
        let shown = Arc::clone(&screen);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                shown
                    .lock()
                    .expect("nobody panicked")
                    .push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self {
            screen,
            keyboard: pair.master.take_writer().expect("its keyboard"),
            child,
            _master: pair.master,
        }
    }

    fn screen(&self) -> String {
        self.screen.lock().expect("nobody panicked").clone()
    }

    /// Waits until a text has appeared behind what was waited for before.
    fn see(&self, from: &mut usize, text: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if let Some(at) = screen.get(*from..).and_then(|rest| rest.find(text)) {
                *from += at + text.len();
                return;
            }
            assert!(
                Instant::now() < until,
                "`{text}` doesn't appear in:\n{}",
                &screen[*from..]
            );
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the line behind a typed one is asked for. A line is drawn anew with each key, prompt and all, so the
    /// prompt alone may be that of the typed one.
    fn see_next_line(&self, from: &mut usize, typed: &str) {
        for text in [typed, "\n", "> "] {
            self.see(from, text);
        }
    }

    fn press(&mut self, keys: &str) {
        self.keyboard
            .write_all(keys.as_bytes())
            .expect("the terminal takes keys");
        self.keyboard.flush().expect("the terminal takes keys");
    }

    fn end(&mut self) -> u32 {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().expect("the program is ours") {
                return status.exit_code();
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("it doesn't end; its screen:\n{}", self.screen());
    }
}

#[test]
fn a_person_talks_steers_cancels_leaves_and_comes_back() {
    let user = User::new();
    let model = Model::start(vec![
        vec![
            Piece::Text("first line\n"),
            Piece::Hold,
            Piece::Text("second line\n"),
        ],
        vec![Piece::Text("as you wish\n")],
        vec![Piece::Text("endless\n"), Piece::Hold],
        vec![Piece::Text("welcome back\n")],
    ]);
    let mut chat = Terminal::start(&user, &["chat", "--session", "s"], &model);
    let at = &mut 0;
    chat.see(at, "> ");
    chat.press("hello\r");
    // Streaming: the first line is there while the model still holds the second one back.
    chat.see(at, "first line");
    chat.press("more politely\r");
    chat.see(at, "(the turn is told)");
    model.go_on();
    chat.see(at, "second line");
    chat.see(at, "as you wish");
    chat.see(at, "2 model calls");

    chat.press("go on for ever\r");
    chat.see(at, "endless");
    chat.press("\u{3}");
    chat.see(at, "cancelled");
    chat.see(at, "what was done so far is saved");
    model.go_on();
    chat.press("\u{3}");
    chat.see(at, "hames resume s");
    assert_eq!(chat.end(), 0);

    let mut back = Terminal::start(&user, &["resume", "s"], &model);
    let at = &mut 0;
    back.see(at, "> ");
    back.press("here I am\r");
    back.see(at, "welcome back");
    back.see(at, "1 model call");
    back.press("\u{4}");
    back.see(at, "hames resume s");
    assert_eq!(back.end(), 0);
    assert_eq!(
        crate::resume::ends(&user, "s"),
        ["completed", "aborted", "completed"]
    );
    let requests = model.requests();
    let steered = requests[1]["messages"].to_string();
    assert!(steered.contains("more politely"), "{steered}");
}

#[test]
fn a_person_is_asked_in_place() {
    for (key, told) in [("y", "allowed once"), ("n", "rejected")] {
        let user = User::new();
        let config = crate::plugins::with_todo(&user, &crate::plugins::asking(&user));
        let mut chat = Terminal::start(
            &user,
            &["chat", "--session", "s", "--config", &config],
            &crate::plugins::planner(),
        );
        let at = &mut 0;
        chat.see(at, "> ");
        chat.press("plan it\r");
        chat.see(at, "allow this call of todo_write once?");
        chat.press(&format!("{key}\r"));
        chat.see(at, told);
        chat.see(at, "Planned.");
        chat.press("/quit\r");
        chat.see(at, "hames resume s");
        assert_eq!(chat.end(), 0);
    }
}

#[test]
fn a_command_that_takes_its_time_keeps_nobody_waiting() {
    let user = User::new();
    let component = hames_sandbox_tests::guests::plain("ponder").expect("the plugin can be built");
    std::fs::write(user.folder().join("ponder.wasm"), &component).expect("the folder is ours");
    let config = "[[plugin]]\nid = \"ponder\"\nsource = \"ponder.wasm\"\nlimits = { call = \"1h\", decide = \"1h\" }\n";
    let config = user.write("work/own.toml", config).display().to_string();
    let model = Model::start(vec![
        vec![Piece::Text("meanwhile\n")],
        vec![Piece::Text("endless\n"), Piece::Hold],
    ]);
    let mut chat = Terminal::start(&user, &["chat", "--session", "s", "--config", &config], &model);
    let at = &mut 0;
    chat.see(at, "> ");
    chat.press("/ponder\r");
    // The line after it is asked for at once.
    chat.see_next_line(at, "/ponder");
    chat.press("hello\r");
    chat.see(at, "meanwhile");
    chat.see(at, "1 model call");
    chat.press("/ponder\r");
    chat.see(at, "another command still runs");
    chat.press("\u{3}");
    chat.see(at, "the command is cancelled");
    // Both at once: a turn and a command.
    chat.see(at, "> ");
    chat.press("/ponder\r");
    chat.see_next_line(at, "/ponder");
    chat.press("go on for ever\r");
    chat.see(at, "endless");
    chat.press("\u{3}");
    chat.see(at, "cancelled");
    chat.see(at, "what was done so far is saved");
    model.go_on();
    chat.press("/ponder\r");
    chat.see_next_line(at, "/ponder");
    chat.press("\u{4}");
    chat.see(at, "hames resume s");
    assert_eq!(chat.end(), 0);
}

#[test]
fn nobody_talks_without_a_terminal() {
    let told = User::new().run(&["chat"]);
    assert_eq!(told.code, Some(2));
    assert!(told.err.contains("needs a terminal"), "{}", told.err);
}
