# Completion of counterfoil's commands and options for bash.
# Installed as share/bash-completion/completions/counterfoil.

_counterfoil_reply() {
	COMPREPLY=($(compgen -W "$1" -- "$current"))
}

_counterfoil_files() {
	compopt -o filenames 2>/dev/null
	COMPREPLY=($(compgen -f -- "$current"))
}

# The words after `counterfoil` that are no options: the command and its sub-command.
_counterfoil_words() {
	local i word

	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		case $word in
		--config | --listen | --admin | --upstream | --data | --store | --why | \
			--reference | --account | --state | --limit | --token | --task | \
			--cursor | --action | --vkey | --since | --fingerprint | --to-file | \
			--to-credential | --to-passphrase-file | --key-file | --agent | --role | \
			--actions | --expires | --label | --target | --kill | --start | --case | \
			--skip | --report | --output | --step | --key | --header | -H | --data | \
			-d | -o | --wait | --credential-env | --credential-file | --journal | \
			--max-time | -m | --connect-timeout | --proxy | -x | --noproxy | \
			--cacert | --cert | -E | --cert-key)
			i=$((i + 1))
			# bash takes the colon of an address for a word of its own
			while [[ ${COMP_WORDS[i + 1]-} == :* ]]; do i=$((i + 2)); done
			;;
		-*) ;;
		*) words+=("$word") ;;
		esac
	done
}

_counterfoil_value() {
	case $previous in
	--config | --gate | --openapi | --since | --to-file | --to-passphrase-file | --key-file | \
		--output | -o | --credential-file | --journal | --cacert | --cert | -E | \
		--cert-key)
		_counterfoil_files
		;;
	--case | --skip)
		_counterfoil_reply "$(counterfoil drill cases 2>/dev/null | grep '^[a-z]')"
		;;
	--report) _counterfoil_reply "table tap junit json html" ;;
	--role) _counterfoil_reply "agent approver operator auditor" ;;
	--data)
		[[ ${COMP_WORDS[1]-} == call ]] && return 0
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -d -- "$current"))
		;;
	--store) _counterfoil_reply sqlite ;;
	--listen | --admin) _counterfoil_reply "127.0.0.1:8080 127.0.0.1:8081" ;;
	--state)
		_counterfoil_reply "awaiting_approval queued running unknown
			completed failed cancelled"
		;;
	--upstream | --why | --reference | --account | --limit | --token | --task | --cursor | \
		--action | --vkey | --fingerprint | --to-credential | --agent | --actions | \
		--expires | --label | --target | --kill | --start | --step | --key | --header | \
		-H | -d | --wait | --credential-env | --max-time | -m | --connect-timeout | \
		--proxy | -x | --noproxy) ;;
	*) return 1 ;;
	esac
}

_counterfoil_op() {
	local common="--data --config --admin --key-file --json --help"

	case ${words[1]-} in
	'')
		if [[ $current == -* ]]; then
			_counterfoil_reply "$common"
		else
			_counterfoil_reply "list show cancel resolve locks release"
		fi
		;;
	list)
		_counterfoil_reply "$common --state --token --task --action --reference --account
			--limit --cursor"
		;;
	show) _counterfoil_reply "$common" ;;
	cancel | release) _counterfoil_reply "$common --why" ;;
	locks) _counterfoil_reply "$common --held --waiting --limit --cursor" ;;
	resolve)
		_counterfoil_reply "$common --happened --did-not --no-retry --why --reference
			--epoch"
		;;
	esac
}

_counterfoil_audit() {
	case ${words[1]-} in
	'') _counterfoil_reply "show export verify prove rotate erase" ;;
	show)
		if [[ $current == -* ]]; then
			_counterfoil_reply "--data --op --token --account --agent \
				--credential --task --fingerprint --event --since \
				--until --json --config --help"
		else
			compopt -o filenames 2>/dev/null
			COMPREPLY=($(compgen -d -- "$current"))
		fi
		;;
	export)
		if [[ $current == -* ]]; then
			_counterfoil_reply "--config --help"
		else
			_counterfoil_files
		fi
		;;
	verify)
		if [[ $current == -* ]]; then
			_counterfoil_reply "--vkey --since --witness --state --proof --json \
				--config --help"
		else
			compopt -o filenames 2>/dev/null
			COMPREPLY=($(compgen -d -- "$current"))
		fi
		;;
	prove)
		_counterfoil_reply "--entry --since --data --out --config --help"
		;;
	rotate)
		_counterfoil_reply "--why --data --config --admin --json --help"
		;;
	erase)
		_counterfoil_reply "--epoch --prune --why --data --config --admin --json \
			--help"
		;;
	esac
}

_counterfoil_vault() {
	case ${words[1]-} in
	'') _counterfoil_reply "show rotate rewrap" ;;
	show | rotate) _counterfoil_reply "--config --data --help" ;;
	rewrap)
		_counterfoil_reply "--config --data --to-file --to-credential \
			--to-passphrase-file --help"
		;;
	esac
}

_counterfoil_call() {
	case ${words[1]-} in
	'')
		if [[ $current == -* ]]; then
			_counterfoil_reply "$call_options"
		else
			_counterfoil_reply "list show forget prune token POST PUT PATCH DELETE"
		fi
		;;
	list) _counterfoil_reply "--task --step --open --limit --journal --json --help" ;;
	show) _counterfoil_reply "--journal --json --help" ;;
	forget) _counterfoil_reply "--force --journal --help" ;;
	prune) _counterfoil_reply "--older --dry-run --journal --json --help" ;;
	token) _counterfoil_reply "--task --step --new --journal --help" ;;
	*) _counterfoil_reply "$call_options" ;;
	esac
}

_counterfoil_drill() {
	if [[ ${words[1]-} == cases ]]; then
		_counterfoil_reply "--help"
	elif [[ ${words[1]-} == init ]]; then
		_counterfoil_reply "--write --body --id --count-get --count --openapi --output --yes
			--help"
	elif [[ $current == -* ]]; then
		_counterfoil_reply "--target --kill --start --case --skip --report --output --json
			--config --gate --help"
	else
		_counterfoil_files
	fi
}

_counterfoil_config() {
	case ${words[1]-} in
	'') _counterfoil_reply "check example schema import-openapi" ;;
	check)
		if [[ $current == -* ]]; then
			_counterfoil_reply "--json --help"
		else
			_counterfoil_files
		fi
		;;
	import-openapi)
		if [[ $current == -* ]]; then
			_counterfoil_reply "--help"
		else
			_counterfoil_files
		fi
		;;
	example | schema) _counterfoil_reply "--help" ;;
	esac
}

_counterfoil_secret() {
	case ${words[1]-} in
	'')
		if [[ $current == -* ]]; then
			_counterfoil_reply "--data --config --admin --key-file --json --help"
		else
			_counterfoil_reply "set list rm"
		fi
		;;
	set | list | rm) _counterfoil_reply "--data --config --admin --key-file --json --help" ;;
	esac
}

_counterfoil_key() {
	local common="--data --config --admin --key-file --json --help"

	case ${words[1]-} in
	'')
		if [[ $current == -* ]]; then
			_counterfoil_reply "$common"
		else
			_counterfoil_reply "create list revoke rm"
		fi
		;;
	create)
		_counterfoil_reply "--account --agent --role --actions --expires --all-accounts
			--label $common"
		;;
	list | rm) _counterfoil_reply "$common" ;;
	revoke) _counterfoil_reply "--why $common" ;;
	esac
}

_counterfoil_help() {
	case ${words[*]:1} in
	'')
		_counterfoil_reply "serve sandbox call op approve deny key secret audit vault
			drill config"
		;;
	call) _counterfoil_reply "list show forget prune token" ;;
	op) _counterfoil_reply "list show cancel resolve locks release" ;;
	key) _counterfoil_reply "create list revoke rm" ;;
	secret) _counterfoil_reply "set list rm" ;;
	audit) _counterfoil_reply "show export verify prove rotate erase" ;;
	vault) _counterfoil_reply "show rotate rewrap" ;;
	drill) _counterfoil_reply "cases init" ;;
	config) _counterfoil_reply "check example schema import-openapi" ;;
	esac
}

_counterfoil() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local words=()
	local call_options="--task --step --key --new --header --data --output --wait --honours-key
		--same-account --credential-env --credential-file --journal --max-time
		--connect-timeout --proxy --noproxy --cacert --cert --cert-key --insecure --help"

	COMPREPLY=()
	_counterfoil_value && return
	_counterfoil_words
	case ${words[0]-} in
	'')
		_counterfoil_reply "serve sandbox call op approve deny key secret audit vault
			drill config help --version --help"
		;;
	serve) _counterfoil_reply "--config --listen --admin --upstream --data --store --help" ;;
	sandbox) _counterfoil_reply "--listen --help" ;;
	call) _counterfoil_call ;;
	op) _counterfoil_op ;;
	approve)
		_counterfoil_reply "--data --config --admin --json --help --yes --fingerprint --why"
		;;
	deny) _counterfoil_reply "--data --config --admin --json --help --fingerprint --why" ;;
	key) _counterfoil_key ;;
	secret) _counterfoil_secret ;;
	audit) _counterfoil_audit ;;
	vault) _counterfoil_vault ;;
	drill) _counterfoil_drill ;;
	config) _counterfoil_config ;;
	help) _counterfoil_help ;;
	esac
}

complete -F _counterfoil counterfoil
