"""What README and docs may say, for docs.py: each table is read from its top, and the first match counts.

Where a command, a block or a file name is new and no rule fits, docs.py fails and says which table wants a line.
"""

DOCUMENTS = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "ARCHITECTURE.md", "docs/**/*.md"]

# The programs whose command lines are looked for.
PROGRAMS = ["paceline", "paceline-worker", "paceline-agent", "paceline-operator", "make", "kubectl", "helm",
            "kind", "scripts/", ".ci/run", "mpirun", "docker", "ctr", "gcloud", "git"]

# Options that make a run short. The folder has the data set idx in "data", job.yaml, and the run folder
# runs/fashion-cnn that was trained from it.
SMALL = ["--set", "dataset.name=idx", "--set", "dataset.path=data", "--set", "dataset.limit=256",
         "--set", "training.steps=3"]

# paceline COMMAND: the options that are added, and then the command is run. None: its options are compared
# with --help alone, for this reason.
PACELINE = {
    "init": ["--force"],
    "run": SMALL,
    "report": [],
    "validate": [],
    "explain": [],
    "crd": [],
    "models": [],
    "evaluate": ["--set", "dataset.name=idx", "--set", "dataset.path=data"],
    "predict": [],
    "diff": [],
    "split": [],
    "estimate": [],
    "speedup": SMALL + ["--steps", "2"],
    "study": ["--check"],
    "data": None,       # it fetches
    "get-model": None,  # it needs a cluster
}

# Words that stand for something: what they are replaced by before a command is run.
STAND_FOR = {"COMMAND": "run", "FIELD": "training", "NAME": "fashion-cnn", "JOB": "job.yaml", "DIR": ".",
             "photos": "data", "arrays": "data"}

# kubectl: its verbs that the docs use, and the kinds of objects they name.
KUBECTL_VERBS = ["apply", "delete", "describe", "exec", "explain", "get", "logs", "paceline", "patch", "rollout",
                 "scale"]
KUBECTL_KINDS = ["tj", "pods", "pod", "pvc", "node", "secret", "crd", "namespace", "deployment"]

# Commands that are not run: a pattern, and why.
NOT_RUN = [
    (r"paceline(-\w+)? \d", "what --version prints"),
    (r"paceline predict runs/(flowers|sky) ", "models of pictures and of two arrays; test_predict.sh asks such"),
    (r"git clone \.\.\.$", "the address is the reader's"),
    (r"git show --stat COMMIT$", "docs_pages.py looks the commits up"),
    (r"(docker|ctr|gcloud|kind) ", "programs of others; the names of images are compared elsewhere"),
    (r"mpirun( --version| -np (2|N))?$", "a program of others"),
    (r"mpirun --hostfile hosts paceline-worker run ", "needs several hosts; its options are compared"),
    (r"paceline-agent ended: ", "a message"),
    (r"paceline-agent (install|model|exec|serve|mpirun)\b", "runs in pods; its words are compared with --help"),
    (r"paceline-operator( |$)", "needs a cluster; its options are compared with --help"),
    (r"(mpirun -np 2 )?paceline-worker( bench --describe| run( .*)?)?$", "the engine; paceline starts it"),
    (r"helm (rollback|uninstall|show values helm/paceline)", "needs a cluster"),
]

# Blocks of lines that are no commands: a pattern for the first line, and what the block is. "job", "layers" and
# "fragment" are given to paceline validate, "study" to paceline study --check, what begins with "-" to nobody.
BLOCKS = [
    (r"usage: paceline ", "- printed by scripts/options-page.sh, and compared with it"),
    (r"apiVersion: paceline.dev/v1\nkind: TrainingJob", "job"),
    (r"apiVersion: paceline.dev/v1\nkind: Study", "study"),
    (r"apiVersion: admissionregistration", "- another kind, of the API server"),
    (r"(spec|model|dataset):", "fragment"),
    (r"length,width,species", "- a table of data"),
    (r"template:", "- a part of a role, shown in the job before it"),
    (r"- \{type: ", "layers"),
    (r"(searches|presets):", "- parts of a study; those of examples/studies have each of them"),
    (r"\{\"type\":", "- messages of the agent's protocol; tests/agent has them"),
    (r"// LINK:", "- lines of a test's head, as tests/run.sh reads them"),
    (r"int spec_load|watch -> cache|operator --control-->", "- a picture"),
    (r"fashion-cnn: fashion-cnn, 3,274,634 parameters|trained        5 epochs", "- the output of a run"),
    (r"runs/fashion-cnn/checkpoint-\d+.safetensors: written with ", "- a message"),
    (r"workers  batches/s", "- the output of paceline speedup"),
    (r"(Launched|StrategySwitched): ", "- events of a job"),
    (r"sum\(paceline_leader\)", "- queries of Prometheus; the names in them are looked for in the sources"),
]

# The data that a list of layers is validated with: a pattern in it, and the data set.
LAYER_DATA = [
    ("type: input", "{name: arrays, path: /data/sky}"),
    ("type: slice", "{name: scenes, made: {samples: 100, classes: 80, size: 16}}"),
    ("", "{name: fashion-mnist}"),
]

# Names that look like files of the tree and are none: a pattern, and what they are.
NAMES = [
    (r"/(data|dev|etc|output|paceline|tmp|usr|var)\b", "a folder of a pod or a machine"),
    (r"^((train|test|val)/)?(CLASS/)?$", "folders of images of a user"),
    (r"/(healthz|readyz|metrics)$", "an address of the operator"),
    (r"runs/", "of a run"),
    (r"build/", "made by make"),
    (r"lib/ld\.so$", "beside paceline-agent-portable, in an image"),
    (r"(job|model)\.json$|(best|model)\.safetensors$|events\.jsonl$|report\.html$", "of a run"),
    (r"\*?\.(safetensors|gz|jpe?g|png|npy|csv|bin|c|key)$", "a suffix"),
    (r"(train|test|valid)(-[A-Za-z]+)?\.(npy|txt|bin)$|(data|test)_batch(_\d)?\.bin$", "a user's data"),
    (r"(ptb|wiki)\.(train|valid|test)\.(txt|tokens)$", "a user's data"),
    (r"data\.key$|tls\.(crt|key)$", "of a Secret"),
    (r"(job|mine)\.yaml$|[ab]\.safetensors$", "a file that the reader has"),
    (r"(app\.kubernetes\.io|paceline\.dev)/", "a label"),
    (r"pods/exec$|samples/s$", "a resource; a unit"),
    (r"discover_hosts\.sh$", "of the mpi-operator"),
    (r"URL/NAME/FILE$|DIR\b|NAME\.npy$", "stands for something"),
    (r"[nN]oun_|X\.c$", "stands for something"),
]

# Fields that a decision names and rejects.
REJECTED = ["spec.training.loss"]

# Keys of `key: value` that are no fields of a TrainingJob: of pods, of studies, of others' programs.
KEYS = ["allowPrivilegeEscalation", "automountServiceAccountToken", "capabilities", "enableServiceLinks",
        "privileged", "readOnlyRootFilesystem", "runAsNonRoot", "runAsUser", "securityContext",
        "validationActions", "points", "peer", "by", "module", "restartPolicy", "OMPI_MCA_pml"]
