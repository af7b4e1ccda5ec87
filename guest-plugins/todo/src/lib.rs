//! A tool that writes what isn't a message: the todo list of the session (`todo/write`).
//!
//! It keeps nothing itself. The list is in the log, where every part of hames reads it, and a restart finds it there.

use hames_sdk::prelude::*;
use hames_sdk::session::{self, Todo, TodoStatus};
use hames_sdk::tool::{GenericView, ToolView};

/// Records the todo list of the work at hand. Send the whole list each time; it replaces the last one.
/// Keep exactly one item in progress.
#[arguments]
struct TodoWrite {
    /// The whole list, in order.
    todos: Vec<Item>,
}

#[arguments]
struct Item {
    /// What to do.
    content: String,
    /// How far it is.
    status: Status,
}

#[arguments]
#[derive(Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

impl Tool for TodoWrite {
    fn run(self, _call: &Call) -> Answer {
        let list: Vec<Todo> = self.todos.iter().map(Item::entry).collect();
        session::write_todos(&list)?;
        Ok(self.summary().into())
    }

    fn view(&self) -> Option<ToolView> {
        let lines: Vec<String> = self.todos.iter().map(Item::line).collect();
        Some(ToolView::Generic(GenericView {
            title: self.summary(),
            body: Some(lines.join("\n")),
        }))
    }
}

impl TodoWrite {
    fn summary(&self) -> String {
        let done = self
            .todos
            .iter()
            .filter(|item| matches!(item.status, Status::Completed))
            .count();
        format!("{done} of {} todos done", self.todos.len())
    }
}

impl Item {
    fn entry(&self) -> Todo {
        Todo {
            content: self.content.clone(),
            status: match self.status {
                Status::Pending => TodoStatus::Pending,
                Status::InProgress => TodoStatus::InProgress,
                Status::Completed => TodoStatus::Completed,
            },
            extra: None,
        }
    }

    fn line(&self) -> String {
        let mark = match self.status {
            Status::Pending => "[ ]",
            Status::InProgress => "[>]",
            Status::Completed => "[x]",
        };
        format!("{mark} {}", self.content)
    }
}

export_plugin!(TodoWrite; manifest = "../manifest.json");
