/** A node that only inspects, without a data listener and a data directory. */
import { type Document, type Files, writeFiles } from "../../support/config.ts";
import { type Gateway, runProgram, startGateway } from "../../support/gateway.ts";
import type { Owner } from "../../support/wait.ts";

/** Guardrails that redact addresses and refuse keys. */
export const GUARDRAILS: Document = {
  guardrails: {
    detectors: [{ type: "pii", prefilter: "pure", entities: ["EMAIL_ADDRESS", "AWS_ACCESS_KEY_ID"] }],
    rules: [
      { name: "keys", when: 'annotations.exists(a, a.category == "secret")', action: "deny" },
      { name: "mails", action: "redact" },
    ],
  },
};

export const MAIL = "mail ada@example.com";
export const REDACTED = "mail <EMAIL_ADDRESS>";
export const KEY = "AKIAZ3PXQ7LMWT5RKD4B";

const KEEPS_NOTHING: Document = { cluster: { node_id: "n1", bootstrap: true } };

export interface Inspecting {
  /** Changed keys of the node file. */
  readonly changes?: Document;
  readonly extproc?: Document;
  readonly env?: Readonly<Record<string, string>>;
  /** Listen address. */
  readonly address?: string;
}

export function writeInspector(owner: Owner, deployment: Document, { changes, extproc, address }: Inspecting = {}) {
  const listen = { inspect_listen: address ?? "127.0.0.1:0", ...extproc };
  return writeFiles(owner, deployment, { ...KEEPS_NOTHING, extproc: listen, ...changes });
}

interface InspectingGateway extends Gateway {
  readonly files: Files;
  /** `host:port` of the inspector. */
  readonly inspector: string;
}

export async function startInspector(
  owner: Owner,
  deployment: Document = GUARDRAILS,
  options: Inspecting = {},
): Promise<InspectingGateway> {
  const files = await writeInspector(owner, deployment, options);
  const gateway = await startGateway(owner, { args: ["-config", files.nodePath], env: options.env ?? {} });
  const { inspector } = await gateway.logged("ready");
  return { ...gateway, files, inspector: String(inspector) };
}

/** Starts an inspector that is expected to fail. */
export async function refusedInspector(owner: Owner, deployment: Document, options: Inspecting = {}) {
  const files = await writeInspector(owner, deployment, options);
  return runProgram(owner, { args: ["-config", files.nodePath], env: options.env ?? {} });
}
