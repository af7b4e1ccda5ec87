"""The work of the guest `hello` as a process of its own: arguments in, greeting out."""

import json
import sys

sys.stdout.write(json.dumps("Hello, " + json.load(sys.stdin)["name"] + "!"))
