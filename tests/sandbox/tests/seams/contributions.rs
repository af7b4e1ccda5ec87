//! Do sections, variables and commands of a component count, and in which order do listeners stand?

use hames_plugin::{Phase, Point, in_order, listings};
use hames_sandbox_tests::listening::{Does, Listening};
use hames_types::port::contribution::{CommandOffer, CommandOutcome};

use crate::stage::{Stage, spec};

/// Memory from an address on.
struct Memory {
    base: usize,
    bytes: Vec<u8>,
}

impl Memory {
    /// Puts bytes somewhere; the address.
    fn put(&mut self, bytes: &[u8]) -> usize {
        while !self.bytes.len().is_multiple_of(8) {
            self.bytes.push(0);
        }
        let at = self.base + self.bytes.len();
        self.bytes.extend(bytes);
        at
    }

    fn text(&mut self, text: &str) -> Vec<u8> {
        let at = self.put(text.as_bytes());
        pair(at, text.len())
    }

    fn some(&mut self, text: &str) -> Vec<u8> {
        let text = self.text(text);
        [vec![1, 0, 0, 0], text].concat()
    }

    /// A success with this payload.
    fn success(&mut self, payload: &[u8]) -> usize {
        let mut bytes = vec![0; 8];
        bytes.extend(payload);
        bytes.resize(64, 0);
        self.put(&bytes)
    }

    fn list(&mut self, values: &[Vec<u8>]) -> Vec<u8> {
        let at = self.put(&values.concat());
        pair(at, values.len())
    }
}

fn pair(at: usize, len: usize) -> Vec<u8> {
    let number = |size: usize| u32::try_from(size).unwrap().to_le_bytes();
    [number(at), number(len)].concat()
}

fn contributing() -> Listening {
    let mut memory = Memory {
        base: 200_000,
        bytes: Vec::new(),
    };
    let none = vec![0; 12];
    let order = |order: f64| order.to_le_bytes().to_vec();
    let fixed = [
        memory.text("made:fixed"),
        order(10.0),
        memory.some("You are {{mood}}."),
        none.clone(),
    ];
    let live = [memory.text("made:live"), order(20.0), none.clone(), none.clone()];
    let sections = memory.list(&[fixed.concat(), live.concat()]);
    let sections = memory.success(&sections);
    let text = memory.text("It rains.");
    let text = memory.success(&text);
    let mood = memory.text("mood");
    let variables = memory.list(&[mood]);
    let variables = memory.success(&variables);
    let value = memory.some("merry");
    let value = memory.success(&value);
    let command = [
        memory.text("shuffle"),
        memory.text("Shuffles the cards."),
        memory.some("SEED"),
        none,
    ];
    let commands = memory.list(&[command.concat()]);
    let commands = memory.success(&commands);
    let shown = memory.text("shuffled");
    let outcome = memory.success(&[vec![0, 0, 0, 0], shown].concat());
    let data: String = memory.bytes.iter().map(|byte| format!("\\{byte:02x}")).collect();
    let function = |name: &str, params: &str, at: usize| {
        format!("(func (export \"hames:plugin/{name}\") (param {params}) (result i32) (i32.const {at}))\n")
    };
    Listening {
        more: [
            function("prompt@0.1.0#sections", "i32 i32", sections),
            function("prompt@0.1.0#section-text", "i32", text),
            function("prompt@0.1.0#variables", "i32 i32", variables),
            function("prompt@0.1.0#variable-value", "i32", value),
            function("commands@0.1.0#list", "i32 i32", commands),
            function("commands@0.1.0#run", "i32 i32 i32 i32 i32 i32 i32", outcome),
            format!("(data (i32.const {}) \"{data}\")", memory.base),
        ]
        .concat(),
        packages: ["prompt", "commands"]
            .map(|name| (String::new(), format!("export hames:plugin/{name}@0.1.0;")))
            .to_vec(),
        ..Listening::default()
    }
}

#[tokio::test]
async fn sections_and_variables_of_a_component_are_in_the_prompt() {
    let stage = Stage::new();
    stage.add(spec("made", &contributing())).await.unwrap();
    let run = stage.run().await;
    let header = &run.of("request/header")[0];
    let system = header["header"]["system"].as_str().unwrap();
    assert!(system.ends_with("You are merry.\n\nIt rains."), "{system}");
    stage.close().await;
}

#[tokio::test]
async fn a_command_of_a_component_runs() {
    let stage = Stage::new();
    let plugin = stage.add(spec("made", &contributing())).await.unwrap();
    let commands = plugin.commands().unwrap();
    let offer = CommandOffer {
        name: "shuffle".into(),
        description: "Shuffles the cards.".into(),
        argument_hint: Some("SEED".into()),
    };
    assert_eq!(commands.commands(), [offer]);
    let outcome = commands.run("shuffle", "7", None).await.unwrap();
    assert_eq!(outcome, CommandOutcome::Show("shuffled".into()));
    stage.close().await;
}

#[tokio::test]
async fn listeners_stand_by_phase_and_then_as_configured() {
    let stage = Stage::new();
    let mut plugins = Vec::new();
    for (id, phase) in [
        ("late", Phase::Late),
        ("first", Phase::Normal),
        ("early", Phase::Early),
        ("second", Phase::Normal),
    ] {
        let made = Listening {
            exports: vec![
                ("on-pre-execute", Does::Delegate),
                ("guard", Does::Answer(Vec::new())),
            ],
            ..Listening::default()
        };
        let mut spec = spec(id, &made);
        spec.phase = phase;
        plugins.push(stage.sandbox.load(spec).await.unwrap());
    }
    let names = |plugins: &[hames_plugin::Plugin]| -> Vec<String> {
        plugins.iter().map(|plugin| plugin.id().to_string()).collect()
    };
    let order = ["early", "first", "second", "late"];
    assert_eq!(names(&in_order(&plugins)), order);
    let listed = listings(&plugins);
    let at = |point| -> Vec<String> {
        let there = listed.iter().filter(|listing| listing.point == point);
        there.map(|listing| listing.plugin.to_string()).collect()
    };
    assert_eq!(at(Point::PreExecute), order);
    assert_eq!(at(Point::Guard), order);
    assert_eq!(listed.len(), 8);
    assert!(listed.iter().all(|listing| listing.is_full));
    stage.close().await;
}
