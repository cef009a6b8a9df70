# memcli: completion for bash 3.2 and later. Written by `python -m memcli.cli.completions`.

_memcli() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local path="" given=0 options="" i word
    # bash cuts --kind=fact into three words.
    if [[ $cur == "=" ]]; then
        cur=""
    elif [[ $prev == "=" ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case "$path/$word" in
            */-*) ;;
            /remember | /recall | /chat | /import | /forget | /export | /stats | /list | /show | /edit | /review | /undo | /sessions | /sessions/show | /sessions/export | /sessions/delete | /task | /task/start | /task/set | /task/get | /task/step | /task/back | /task/show | /task/list | /task/done | /backup | /restore | /reembed | /doctor | /eval | /config | /config/get | /config/set | /config/unset | /config/path) path="$path/$word" ;;
            *) given=$((given + 1)) ;;
        esac
    done
    COMPREPLY=()
    case "$path $prev" in
        *" --kind") _memcli_words "identity preference decision fact episode document summary"; return ;;
        *" --priority") _memcli_words "P0 P1 P2"; return ;;
        *" --topic" | *" --audience" | *" --source" | *" --source-id" | *" --at" | *" --expires" | *" --user" | *" --project" | *" -k" | *" --since" | *" --until" | *" --as-of" | *" --agent" | *" --min-score" | *" --budget" | *" --model" | *" --session" | *" --history" | *" --system" | *" --encoding" | *" --tz" | *" --me" | *" --query" | *" --match" | *" --before" | *" --passphrase-file" | *" --recipient" | *" -n" | *" --accept" | *" --text" | *" --reject" | *" --never" | *" --ttl" | *" --keep" | *" --identity" | *" --out") return ;;
        *" --data-dir") _memcli_directories; return ;;
        *" --role") _memcli_words "user assistant system tool"; return ;;
        "/recall --format") _memcli_words "prompt"; return ;;
        "/import --format") _memcli_words "memcli chatgpt claude-ai claude-code codex gemini-cli session-jsonl jan sillytavern aider telegram slack discord discord-package meta wechat whatsapp gemini-activity ai-studio grok librechat chatbot-ui open-webui lm-studio cherry-studio lobechat chatbox llm aichat mcp-memory openmemory mem0 claude-mem basic-memory langchain langgraph-store sharegpt alpaca openai-jsonl message-jsonl text-jsonl csv markdown text"; return ;;
        "/export --format") _memcli_words "jsonl json csv markdown parquet"; return ;;
        *" -o") _memcli_files; return ;;
        *" --sort") _memcli_words "time updated priority"; return ;;
    esac
    case "$path" in
        "") options="--version -h --help" ;;
        "/remember") options="--kind --priority --topic --private --no-private --audience --source --source-id --at --expires --extract --allow-sensitive --dry-run --user --project --data-dir --json --no-color --quiet -q --verbose -v -h --help" ;;
        "/recall") options="-k --kind --topic --role --since --until --as-of --agent --current --min-score --explain --ndjson --format --budget --user --project --data-dir --json --no-color --quiet -q --verbose -v -h --help" ;;
        "/chat") options="--model --session --no-memory --history --system --budget --why --user --project --data-dir --json --no-color --quiet -q --verbose -v -h --help" ;;
        "/import") options="--format --encoding --tz --extract --no-extract --since --role --me --all-branches --include-tools --restore --no-vectors --allow-sensitive --dry-run --discover --watch --yes -y --user --project --data-dir --json --no-color --quiet -q --verbose -v -h --help" ;;
        "/forget") options="--source-id --query --topic --match --session --source --before --all --related --retire --prove --yes -y --dry-run --user --project --data-dir --json --no-color --quiet -q --verbose -v -h --help" ;;
        "/export") options="-o --format --kind --topic --role --since --until --as-of --agent --current --ndjson --encrypt --passphrase-file --recipient --user --project --data-dir --json --no-color --quiet -q --verbose -v -h --help" ;;
        "/list") options="-n --sort --kind --topic --role --since --until --as-of --agent --current --ndjson --user --project --data-dir --json --no-color --quiet -q --verbose -v -h --help" ;;
        "/edit") options="--kind --priority --topic --private --no-private --audience --source --source-id --at --expires --allow-sensitive --dry-run --user --project --data-dir --json --no-color --quiet -q --verbose -v -h --help" ;;
        "/review") options="--accept --text --reject --never --user --project --data-dir --json --no-color --quiet -q --verbose -v -h --help" ;;
        "/undo") options="--list --dry-run --user --project --data-dir --json --no-color --quiet -q --verbose -v -h --help" ;;
        "/sessions/delete") options="--prove --yes -y --dry-run --user --project --data-dir --json --no-color --quiet -q --verbose -v -h --help" ;;
        "/task/start") options="--ttl --user --project --data-dir --json --no-color --quiet -q --verbose -v -h --help" ;;
        "/task/done") options="--keep --user --project --data-dir --json --no-color --quiet -q --verbose -v -h --help" ;;
        "/backup") options="--encrypt --passphrase-file --recipient --keep --user --project --data-dir --json --no-color --quiet -q --verbose -v -h --help" ;;
        "/restore") options="--passphrase-file --identity --yes -y --dry-run --user --project --data-dir --json --no-color --quiet -q --verbose -v -h --help" ;;
        "/doctor") options="--fix --user --project --data-dir --json --no-color --quiet -q --verbose -v -h --help" ;;
        "/eval") options="-k --out --user --project --data-dir --json --no-color --quiet -q --verbose -v -h --help" ;;
        *) options="--user --project --data-dir --json --no-color --quiet -q --verbose -v -h --help" ;;
    esac
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$cur"))
        return
    fi
    case "$path/$given" in
        "/0") _memcli_words "remember recall chat import forget export stats list show edit review undo sessions task backup restore reembed doctor eval config" ;;
        "/import/"*) _memcli_files ;;
        "/sessions/0") _memcli_words "show export delete" ;;
        "/task/0") _memcli_words "start set get step back show list done" ;;
        "/reembed/0") _memcli_words "builtin" ;;
        "/config/0") _memcli_words "get set unset path" ;;
        "/config/get/0") _memcli_words "user project data_dir recall.half_life_days embedder ollama_host now budget k embed_timeout_s lock_timeout_s chat.model chat.base_url chat.num_ctx chat.keep_alive chat.timeout_s learn.model memory chat.history chat.thinking chat.ab color" ;;
        "/config/set/0") _memcli_words "user project data_dir recall.half_life_days embedder ollama_host budget k embed_timeout_s lock_timeout_s chat.model chat.base_url chat.num_ctx chat.keep_alive chat.timeout_s learn.model memory chat.history chat.thinking chat.ab color" ;;
        "/config/unset/0") _memcli_words "user project data_dir recall.half_life_days embedder ollama_host budget k embed_timeout_s lock_timeout_s chat.model chat.base_url chat.num_ctx chat.keep_alive chat.timeout_s learn.model memory chat.history chat.thinking chat.ab color" ;;
    esac
}

_memcli_words() {
    COMPREPLY=($(compgen -W "$1" -- "$cur"))
}

_memcli_files() {
    local IFS=$'\n'
    compopt -o default 2>/dev/null || COMPREPLY=($(compgen -f -- "$cur"))
}

_memcli_directories() {
    local IFS=$'\n'
    compopt -o dirnames 2>/dev/null || COMPREPLY=($(compgen -d -- "$cur"))
}

complete -F _memcli memcli
