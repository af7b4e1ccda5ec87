//! What does the contract look like in Rust? Generated from `wit/`, private, nothing else.

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "everything",
    imports: {
        "hames:plugin/wait.sleep": async | trappable,
        "hames:plugin/wait.until-aborted": async | trappable,
        "hames:plugin/session.append": async | trappable,
        "hames:plugin/session.write-todos": async | trappable,
        default: trappable,
    },
    exports: { default: async },
});
