/** A policy to start from: it loads as it is. */
export const POLICY_TEMPLATE = `# A Skerry policy: what an agent role may do, and with which limits.
# Check it:    skerry policy check policy.yaml
# Try it:      skerry policy explain --policy policy.yaml --role data_analyst --tool run_code --language python
# Unknown keys and tools are errors. A tool or a role that is not here is denied.
version: 1

policies:
  # For every tool and role that does not say otherwise.
  default:
    sandbox_enabled: true
    max_execution_time: 30s   # 250ms, 30s, 5m
    max_memory: 512MB         # 64kb, 512MB, 1GB; 1 KB is 1024 bytes
    max_cpu: 1.0              # cores
    # max_pids: 128
    # max_output: 10MB
    # max_file_size: 100MB
    # max_workspace: 1GB
    network_access: false
    filesystem_access: workspace_only
    # security_mode: strict   # or permissive; strict: what is not provably inert runs behind a boundary
    # max_risk: high          # code that is assessed above this is denied

  # What each tool may do. risk_level: low, medium, high; critical always asks a person.
  tools:
    file_read:
      risk_level: low
      sandbox_enabled: false  # only for tools that run no code
      allowed_paths:
        - /workspace/**
      denied_paths:           # a denied path wins over an allowed one
        - /workspace/.env
        - /workspace/**/*.key

    file_write:
      risk_level: medium
      allowed_paths:
        - /workspace/**

    # Commands are parsed, not matched as text: \`c\\url\`, $(curl x), env curl and sh -c 'curl x' are all curl.
    # A command that cannot be understood is denied. The boundary is still the sandbox.
    shell_exec:
      risk_level: high
      max_execution_time: 60s
      allowed_commands:
        - ls
        - cat
        - grep
        - find
        - python
        - node
      denied_commands:        # in any spelling: rm -fr, rm -r -f, rm --recursive --force
        - rm -rf
        - sudo
        - curl
        - wget
        - nc
        - ssh
      # confirm_commands:     # a person is asked
      #   - git push

    run_code:
      risk_level: high
      supported_languages:
        - python
        - javascript
        - typescript
      max_execution_time: 120s
      max_memory: 1GB
      # requires_confirmation: true

  # Who may use which tools. A role's own limits replace the defaults; where a tool and a role both set one,
  # the stricter counts.
  agent_roles:
    code_assistant:
      inherits: default
      tools:
        - file_read
        - file_write
        - run_code
        - shell_exec

    data_analyst:
      inherits: default
      tools:
        - file_read
        - run_code
      max_memory: 2GB

# For roles and tools with network_access: true. Ports are sandbox.network.allowedPorts of the configuration.
network:
  default: none
  allowlist:
    enabled: true
    domains:
      - "*.githubusercontent.com"
    ips: []
  denylist:
    enabled: true
    domains:
      - "*.internal.*"
      - localhost
      - "127.*"
      - "10.*"
      - "192.168.*"
    ports:
      - 22   # SSH
      - 3306 # MySQL
      - 5432 # PostgreSQL
      - 6379 # Redis
`;
