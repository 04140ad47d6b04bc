/** Refuses reasons that contain a secret, because reasons are stored literally, replicated, recorded and read by others. */

import type { Ports } from "./ports.ts";
import { refusal } from "./refusal.ts";

/** Checks that a reason contains no secret. Otherwise rejects with `invalid`, without repeating the secret. */
export async function refuseSecret(
  { detectSecret }: Pick<Ports, "detectSecret">,
  reason: string,
  readers: "callers" | "operators",
): Promise<void> {
  const type = await detectSecret(reason);
  if (type === undefined) return;
  throw refusal(
    "invalid",
    `The reason contains what looks like a secret (${type}), and ${readers} read it: nothing was written. ` +
      "Remove it, or use its public id. Replace a secret that others have seen.",
    { reason: "secret_in_reason", type },
  );
}
