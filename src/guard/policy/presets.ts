const HEAD = `# Check it:  skerry policy check policy.yaml
# Ask it:    skerry policy explain --policy policy.yaml --command 'git status'
# Keys and their meaning: docs/policy.md. Unknown keys are errors; a tool that is not here is denied.
version: 1
`;

const DEV = `# A Skerry policy for an agent that develops: every tool, no network, a person is asked about what is dangerous.
${HEAD}default_role: code_assistant # of a call that names no role

policies:
  # For every tool and role that does not say otherwise.
  default:
    max_execution_time: 10m     # 250ms, 30s, 5m; of one call
    # max_memory: 2GB           # left out: the configuration's; one that this host cannot enforce denies the call
    # max_cpu: 2                # cores
    # max_pids: 256
    # max_output: 10MB
    # max_workspace: 1GB
    network_access: false       # true: the hosts of the network block below
    # max_risk: high            # code that is assessed above this is denied

  tools:
    run_code: {}
      # supported_languages: [python, javascript]
    # Commands are parsed, not matched as text: sh -c 'git push' is git push. With rules about commands, one that is only
    # known when it runs, such as "$EDITOR" x, is denied.
    shell_exec: {}
      # confirm_commands: [git push, npm publish]   # a person is asked
      # denied_commands: [sudo]
    run_tests: {}
    file_read: {}
    file_list: {}
    file_search: {}
    file_write: {}
    file_edit: {}
    file_delete: {}
      # requires_confirmation: true

  # Who may use which tools. Where a tool and a role both set a limit, the stricter counts.
  agent_roles:
    code_assistant:
      tools: [run_code, shell_exec, run_tests, file_read, file_list, file_search, file_write, file_edit, file_delete]
    data_analyst:
      tools: [run_code, file_read, file_list, file_search]

# How much a finding counts; from high on, a person is asked. Names and defaults: docs/risk.md.
# risk:
#   install: high
#   network: low

# For what has network_access. Ports are sandbox.network.allowedPorts of the configuration.
# network:
#   allowlist:
#     domains: [registry.npmjs.org, pypi.org, files.pythonhosted.org]
`;

const STRICT = `# A Skerry policy that allows little: named commands, small limits, no risk above medium. Every call names a role.
${HEAD}
policies:
  default:
    max_execution_time: 30s
    max_memory: 512MB           # 64kb, 512MB, 1GB; 1 KB is 1024 bytes
    max_cpu: 1.0                # cores
    max_pids: 128
    network_access: false
    filesystem_access: workspace_only
    max_risk: medium            # code that is assessed above this is denied
    denied_paths:               # also as a constant argument of a command; the walls do not know them
      - .env
      - "*.key"
      - "*.pem"

  # risk_level: low, medium, high; critical always asks a person.
  tools:
    file_read: { risk_level: low }
    file_list: { risk_level: low }
    file_search: { risk_level: low }
    file_write: { risk_level: medium }
    file_edit: { risk_level: medium }
    file_delete:
      risk_level: medium
      requires_confirmation: true

    # Commands are parsed, not matched as text: \`c\\url\`, $(curl x), env curl and sh -c 'curl x' are all curl.
    # A command that cannot be understood is denied. The boundary is still the sandbox.
    shell_exec:
      risk_level: high
      max_execution_time: 60s
      allowed_commands:         # and builtins that run nothing, such as cd and echo
        - sh                    # of sh -c 'ls | head' each command counts
        - bash
        - ls
        - cat
        - head
        - tail
        - wc
        - sort
        - uniq
        - cut
        - diff
        - grep
        - find
        - mkdir
        - cp
        - mv
        - rm
        - git status
        - git diff
        - git log
        - git add
        - git commit
        - python
        - node
        - npm test
      denied_commands:          # in any spelling: rm -fr, rm -r -f, rm --recursive --force
        - rm -rf
        - find -delete
        - sudo
        - curl
        - wget
        - nc
        - ssh

    run_code:
      risk_level: high
      supported_languages: [python, javascript, typescript]
      max_execution_time: 120s
    run_tests:
      risk_level: high
      max_execution_time: 120s

  agent_roles:
    code_assistant:
      tools: [file_read, file_list, file_search, file_write, file_edit, file_delete, run_code, run_tests, shell_exec]
    data_analyst:
      tools: [file_read, file_list, file_search, run_code]

# For roles and tools with network_access: true. Ports are sandbox.network.allowedPorts of the configuration.
network:
  denylist:
    domains: ["*.internal.*", localhost, "127.*", "10.*", "192.168.*"]
    ports: [22, 3306, 5432, 6379] # SSH, MySQL, PostgreSQL, Redis
`;

const READONLY = `# A Skerry policy that only reads: files can be listed, searched and read, and nothing runs.
${HEAD}
policies:
  default:
    max_execution_time: 30s
    filesystem_access: workspace_only
    denied_paths: [.env, "*.key", "*.pem"]
  tools:
    file_read: {}
    file_list: {}
    file_search: {}
`;

export type PolicyPreset = "dev" | "strict" | "readonly";

/** Policies to start from, by the name that `skerry policy init --preset` takes. Each loads as it is. */
export const POLICY_PRESETS: Readonly<Record<PolicyPreset, string>> = {
  dev: DEV,
  strict: STRICT,
  readonly: READONLY,
};
