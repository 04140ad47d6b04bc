/** Files of `gateway dev`: a node file, a deployment document with a policy worth trying, and a rule suite that tests it. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

interface DevFiles {
  readonly nodePath: string;
  readonly suitePath: string;
}

interface DevSettings {
  readonly listen: string;
  /** Address at which clients reach `listen`. */
  readonly publicUrl: string;
  readonly metricsListen: string;
  readonly simulatorUrl: string;
}

/** Profile of the key that is minted at the start. */
export const DEV_PROFILE = "developer";

export async function writeDevFiles(dir: string, settings: DevSettings): Promise<DevFiles> {
  const nodePath = join(dir, "node.yaml");
  const suitePath = join(dir, "rules.yaml");
  const secrets = join(dir, "secrets");
  await mkdir(secrets, { mode: 0o700 });
  await Promise.all([
    writeFile(join(secrets, "SIMULATOR_KEY"), "the simulator takes any", { mode: 0o600 }),
    writeFile(nodePath, nodeFile(dir, settings)),
    writeFile(join(dir, "deployment.yaml"), deployment(settings)),
    writeFile(suitePath, SUITE),
  ]);
  return { nodePath, suitePath };
}

const nodeFile = (dir: string, { listen, metricsListen }: DevSettings): string => `\
# Node file: settings of this gateway process.
listen: "${listen}"
metrics_listen: "${metricsListen}"
deployment: deployment.yaml
secrets_dir: secrets
cluster:
  node_id: dev
  data_dir: ${JSON.stringify(join(dir, "data"))}
  secret: only-for-trying-things-and-nothing-else
  bootstrap: true
admin:
  local_socket: ${JSON.stringify(join(dir, "admin.sock"))}
`;

const deployment = ({ simulatorUrl, publicUrl }: DevSettings): string => `\
# Deployment document: a provider with both dialects, an MCP server, an agent, and rules about who may call what.
public_url: ${publicUrl} # used in agent cards, the registry and other addresses
catalog_overlays:
  - name: dev
    providers:
      - op: add
        name: simulator
        schema: { name: compat }
        base_url: ${simulatorUrl}/v1
        strip_path_prefix: /v1
        channels:
          - { id: compat, dialect: compat, tier: provider }
          - { id: messages, dialect: messages, tier: provider }
providers:
  - preset: simulator
    api_key: ${"${secret:SIMULATOR_KEY}"}
    models: ["sim-*"]
    model_aliases: { fast: sim-chat }

# Served at /mcp/tools and /a2a/agent, with the same keys, rules, budgets and guardrails.
mcp:
  - name: tools
    url: ${simulatorUrl}/mcp
    registry: { name: com.example/tools, title: Tools, description: Simulated tools. }
a2a:
  - name: agent
    url: ${simulatorUrl}/a2a

# Every request needs a key that was minted here.
auth: { virtual_keys: true }

# All keys of the profile spend from one bucket.
budgets:
  - { name: trying, limit: 100000, window: hour, shared: true }
profiles:
  - name: ${DEV_PROFILE}
    budget: trying

access_rules:
  - name: large-needs-approval
    at: [llm]
    condition: model == "sim-large" && !("approved" in key.metadata)
    action: deny
    message: sim-large is for keys that were approved. Mint one with the metadata "approved".
  - name: files-stay
    at: [mcp]
    condition: server == "tools" && name == "delete_file"
    action: deny
    message: Deleting files is not allowed.

${GUARDRAILS}`;

/** Guardrails of a gateway and of an inspector. */
export const GUARDRAILS = `\
# What detectors look for in every text, and what rules do with it before the provider sees it.
guardrails:
  detectors:
    - type: pii
      prefilter: pure # native is faster for custom recognizers: gateway parts
      entities: [CREDIT_CARD, EMAIL_ADDRESS, IBAN_CODE, AWS_ACCESS_KEY_ID, GITHUB_TOKEN, OPENAI_API_KEY, PRIVATE_KEY]
  rules:
    - name: keys-stay-here
      when: annotations.exists(a, a.category == "secret")
      action: deny
      message: Keys and tokens must not leave this machine.
    - name: cards-and-mails
      action: redact
`;

const SUITE = `\
# Tests for the rules of deployment.yaml. Run them with: gateway -config node.yaml -test-rules rules.yaml
suite: dev
callers:
  anybody: { key: { name: dev }, profile: ${DEV_PROFILE} }
  approved: { key: { name: me, metadata: { approved: "yes" } }, profile: ${DEV_PROFILE} }
cases:
  - name: any key may chat
    caller: anybody
    request: { model: sim-chat }
    expect: allow
  - name: the large model is not for any key
    caller: anybody
    request: { model: sim-large }
    expect: deny
    by: large-needs-approval
  - name: the large model is for a key that was approved
    caller: approved
    request: { model: sim-large }
    expect: allow
  - name: any key may call the tools
    caller: anybody
    request: { server: tools, method: tools/call, name: search }
    expect: allow
  - name: but the one that deletes
    caller: anybody
    request: { server: tools, method: tools/call, name: delete_file }
    expect: deny
    by: files-stay
  - name: a card and an address do not reach the provider
    caller: anybody
    guardrail: { text: "Bill 4111 1111 1111 1111, mail ada@example.com" }
    expect: redact
    by: cards-and-mails
    rewritten: Bill <CREDIT_CARD>, mail <EMAIL_ADDRESS>
  - name: a number that is no card is left alone
    caller: anybody
    guardrail: { text: Order 4111 1111 1111 1112 }
    expect: allow
    types: []
  - name: a key is refused, also where a tool answered it
    caller: anybody
    guardrail: { kind: tool_result, text: "aws_access_key_id = AKIAZ3PXQ7LMWT5RKD4B" }
    expect: deny
    by: keys-stay-here
`;
