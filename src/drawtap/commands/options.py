"""Options that several verbs have: about traces of the kernel, about a corpus."""

from drawtap.commands import Opt

FROM = Opt(
    "Begin of the window: 1.5, 200ms from the begin of the trace, or a time of the trace in ns: @123.", metavar="TIME"
)
TO = Opt("End of the window.", "-t", "TIME")
CALLS = Opt("Also draw frames and API calls of a recording of the same time.", "-c", "FILE", word="calls")
GUEST = Opt(
    "Join a trace from inside of a virtual machine; NAME is the host's name of it, or of its vGPU.",
    "-g",
    "[NAME=]TRACE",
)
NO_CACHE = Opt("Neither look for kept tables of this trace nor keep them.")
TRACE = Opt("a trace of the kernel: a file, or a folder of CTF", metavar="TRACE")

CORPUS = Opt("The corpus: a folder, or s3://BUCKET/PREFIX.  [default: $DRAWTAP_CORPUS]", metavar="STORE")
TAGS = Opt("Only recordings with this tag; several: with all of them.", "-t", "NAME=VALUE", word="tag")
ID = Opt("recordings, by the first digits of their ids", metavar="ID", mixed=True)
ENGINES_FILE = Opt(
    "Engines are named here.  [default: drawtap/engines.toml below ~/.config]", metavar="FILE", word="engines"
)
