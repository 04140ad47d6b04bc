/**
 * Gateways with one simulated provider that acts as three: `native` has the Responses API, `messages` uses the messages
 * dialect, `chat` has chat completions alone. A model is named `chat/sim-small`, or `o4-chat/sim-small`, which clients
 * treat as a known reasoning model.
 */
import { defaultClaims } from "../../../../src/server/core/dialects/index.ts";
import { type Governed, mint, PROVIDER_KEY, startGoverned } from "../../governance/support/governed.ts";
import type { Owner } from "../../support/wait.ts";
import { surface } from "./rig.ts";

export const TRANSLATED = ["messages", "chat"] as const;
export const CHANNELS = ["native", ...TRANSLATED] as const;

const CHAT_ONLY = [...defaultClaims("compat")].filter((name) => name !== "responses");

const MODELS = [
  "small",
  "texts-2",
  "calls-2",
  "calls-1+rounds-2",
  "calls-2+rounds-3",
  "calls-2+rounds-10",
  "calls-2+text-first",
  "calls-2+text-first+rounds-3",
  "calls-2+text-first+rounds-9",
  "calls-2+text-first+rounds-10",
  "rounds-10",
  "refuse",
  "filtered",
  "long-500",
  "no-text",
  "slow-5s",
  "slow-stream-200ms",
  "drop-before-headers",
  "drop-mid-stream",
  "reset-mid-stream",
  "error-first-event",
  "error-mid-stream",
  ...[400, 401, 404, 413, 422, 429, 500, 503, 529],
].map((name) => `sim-${name}`);

interface Responding extends Governed {
  /** Key of a caller. */
  readonly key: string;
}

export async function startResponding(owner: Owner, ids: readonly string[] = ["n1"]): Promise<Responding> {
  const governed = await startGoverned(owner, {
    ids,
    deployment: ({ url }) => ({
      catalog_overlays: [
        surface({ name: "native", dialect: "compat", url }),
        surface({ name: "messages", dialect: "messages", url }),
        surface({ name: "chat", dialect: "compat", url, caps: CHAT_ONLY }),
      ],
      providers: CHANNELS.map((preset) => ({
        preset,
        api_key: PROVIDER_KEY,
        model_aliases: Object.fromEntries(
          ["", "o4-"].flatMap((known) => MODELS.map((model) => [`${known}${preset}/${model}`, model])),
        ),
      })),
    }),
  });
  return { ...governed, key: await mint(governed.node, "one") };
}
