/** A node file and a deployment document in a folder of their own, and a gateway that uses them. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Gateway, startGateway } from "./gateway.ts";
import { atEnd, type Owner } from "./wait.ts";

/** A document as data, written as JSON, which is YAML. */
export type Document = Readonly<Record<string, unknown>>;

export interface Files {
  readonly dir: string;
  readonly nodePath: string;
  writeNode(changes: Document): Promise<void>;
  writeDeployment(deployment: Document | string): Promise<void>;
}

/** Writes a folder with both documents, removed with its owner. `changes` replace keys of an ordinary node file. */
export async function writeFiles(owner: Owner, deployment: Document | string, changes: Document = {}): Promise<Files> {
  const dir = await mkdtemp(join(tmpdir(), "gateway-e2e-"));
  atEnd(owner, () => rm(dir, { recursive: true, force: true }));
  const nodePath = join(dir, "node.yaml");
  const files: Files = {
    dir,
    nodePath,
    writeNode: (keys) => writeFile(nodePath, JSON.stringify({ ...ordinaryNode(dir), ...keys })),
    writeDeployment: (document) =>
      writeFile(join(dir, "deployment.yaml"), typeof document === "string" ? document : JSON.stringify(document)),
  };
  await Promise.all([files.writeNode(changes), files.writeDeployment(deployment)]);
  return files;
}

export async function startWithFiles(
  owner: Owner,
  deployment: Document,
  changes: Document = {},
  env: Readonly<Record<string, string>> = {},
): Promise<Gateway & { readonly files: Files }> {
  const files = await writeFiles(owner, deployment, changes);
  const gateway = await startGateway(owner, { args: ["-config", files.nodePath], env });
  return { ...gateway, files };
}

function ordinaryNode(dir: string): Document {
  return {
    listen: "127.0.0.1:0",
    metrics_listen: "127.0.0.1:0",
    deployment: "deployment.yaml",
    cluster: {
      node_id: "n1",
      data_dir: join(dir, "data"),
      secret: "a-secret-that-is-long-enough-for-tests",
      bootstrap: true,
    },
  };
}

/** Returns an overlay that adds a provider with both dialects at one origin, as preset `name`. */
export function twoDialects(name: string, url: string, facts: Document = {}): Document {
  return {
    name: `${name}-overlay`,
    providers: [
      {
        op: "add",
        name,
        schema: { name: "compat" },
        base_url: `${url}/v1`,
        strip_path_prefix: "/v1",
        channels: [
          { id: "compat", dialect: "compat", tier: "provider" },
          { id: "messages", dialect: "messages", tier: "provider" },
        ],
        ...facts,
      },
    ],
  };
}
