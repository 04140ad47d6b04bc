/** The gateway of the acceptance tests. Its failing provider echoes its credential, as careless providers do. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { atEnd, type Owner } from "../../support/wait.ts";
import { type ConsoleGateway, homeOf, PROVIDERS, startConsoleGateway } from "../support/console-gateway.ts";

/** Value of the sealed secret. */
export const SEALED = "cnry-sealed-5ea1ed-x7Qz";
/** Credential of the failing provider, and its name in the secrets folder. */
export const CREDENTIAL = "cnry-upstreams-c4ed17-x7Qz";
export const CREDENTIAL_NAME = "alt-key";

/** A provider is shown as failing for a minute after its last failure. */
const FAIL_EVERY_MS = 25_000;

export async function openAcceptanceGateway(owner: Owner): Promise<ConsoleGateway> {
  const secrets = await homeOf(owner);
  writeFileSync(join(secrets, CREDENTIAL_NAME), CREDENTIAL, { mode: 0o600 });
  const reported: string[] = [];
  const started = await startConsoleGateway(owner, {
    changes: { secrets_dir: secrets },
    sealed: SEALED,
    failing: {
      apiKey: `\${secret:${CREDENTIAL_NAME}}`,
      answer(headers) {
        reported.push(headers.map(([, value]) => value).join(" "));
        return JSON.stringify({ error: { message: `these were the headers: ${reported.at(-1)}` } });
      },
    },
  });
  assert.ok(
    reported.some((text) => text.includes(CREDENTIAL)),
    "the provider was given its credential, and told it",
  );
  const params = { kind: "provider", name: PROVIDERS.idle } as const;
  await started.node.client.call("put_suspension", { params, body: { reason: "spare", duration: "1h" } });
  // The last tests stop the gateway.
  const timer = setInterval(() => void started.fail().catch(() => undefined), FAIL_EVERY_MS);
  atEnd(owner, () => clearInterval(timer));
  return started;
}
