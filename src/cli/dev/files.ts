/** What `gateway dev` runs from: a node file, a deployment document with a policy worth trying, and a suite that tests it. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

export interface DevFiles {
  readonly nodePath: string;
  readonly suitePath: string;
}

export interface DevSettings {
  readonly listen: string;
  readonly metricsListen: string;
  readonly simulatorUrl: string;
}

/** What the key that is minted at the start names. */
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
# What this machine's process does.
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

const deployment = ({ simulatorUrl }: DevSettings): string => `\
# What the deployment is: one provider that speaks both dialects, and who may ask it for what.
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
`;

const SUITE = `\
# What the rules of deployment.yaml are for; gateway -config node.yaml -test-rules rules.yaml
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
`;
