"""A plugin in Python, by componentize-py from the contract alone: counts words, and says when it can't."""

import json
from collections import Counter

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.tools import (
    ArgumentCheck,
    ExecutionClass,
    ExecutionMode,
    GenericView,
    ToolDefinition,
    ToolError_Failed,
    ToolOutput,
    ToolView_Generic,
)
from wit_world.imports import log
from wit_world.imports.content import ContentBlock_Text, TextBlock
from wit_world.imports.types import Fault, FaultOrigin

PARAMETERS = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


class Tools(exports.Tools):
    def list(self, config):
        return [
            ToolDefinition(
                name="count_words",
                description="Counts the words of a text.",
                parameters=json.dumps(PARAMETERS),
                arguments=ArgumentCheck.HOST,
                timeout_ms=None,
                execution=ExecutionClass.CLASSIFIED,
                extra=None,
            )
        ]

    def classify(self, name, arguments):
        return ExecutionMode.PARALLEL

    def execute(self, call):
        words = Counter(json.loads(call.arguments)["text"].lower().split())
        if not words:
            raise Err(ToolError_Failed(Fault("there are no words", "ValueError", "NO_WORDS", FaultOrigin.FOREIGN, None, [])))
        log.write(log.Level.INFO, f"counted {len(words)} words")
        # Not `most_common(3)`: that imports a module when it is called, and a component has no files to import from.
        text = ", ".join(f"{word} {count}" for word, count in words.most_common()[:3])
        meta = json.dumps(dict(words))
        return ToolOutput([ContentBlock_Text(TextBlock(text, None))], meta, [])

    def present_call(self, name, arguments):
        return ToolView_Generic(GenericView("count words", None))

    def present_result(self, name, arguments, content, meta):
        return None
