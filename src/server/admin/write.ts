/** Commands of the state as handlers issue them: a refusal of the state is a refusal of the request. */

import type { WriteOptions } from "../cluster/index.ts";
import type { Ports } from "./ports.ts";
import { refusedCommand } from "./refusal.ts";

/** Gives what the command came to. Of a repeated request that is what the first one came to. */
export async function command(
  { cluster }: Ports,
  named: { readonly t: string; readonly p: unknown },
  options: WriteOptions,
): Promise<unknown> {
  const result = await cluster.write(named, options);
  if (result.kind === "refused") throw refusedCommand(result);
  return result.value;
}
