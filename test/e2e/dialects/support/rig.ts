/**
 * One gateway between the official clients and two simulated providers, one per dialect. For the gateway they are
 * several providers: those that lose nothing silently, and those for which the operator allows losses.
 *
 * Every model of the simulated provider is requested by an alias that names the provider: `compat/sim-small`.
 */

import type { Dialect } from "../../../../src/server/core/dialects/routes/routes.ts";
import type { Simulator } from "../../../../src/simulator/index.ts";
import { type Document, startWithFiles } from "../../support/config.ts";
import type { Gateway } from "../../support/gateway.ts";
import { type Clients, clientsOf, simulated } from "../../support/simulated.ts";
import type { Owner } from "../../support/wait.ts";

export const UPSTREAMS = ["compat", "messages"] as const satisfies readonly Dialect[];

/** Catalog name and claims of a provider with one surface; `undefined` claims everything in its dialect. */
interface SurfaceOptions {
  readonly name: string;
  readonly dialect: Dialect;
  readonly url: string;
  readonly caps?: readonly string[];
}

export function surface({ name, dialect, url, caps }: SurfaceOptions): Document {
  return withChannels(name, url, [{ id: dialect, dialect, tier: "provider", ...(caps && { caps }) }]);
}

/** Returns an overlay that adds a provider with these channels. */
export function withChannels(name: string, url: string, channels: readonly Document[]): Document {
  return {
    name: `${name}-overlay`,
    providers: [
      {
        op: "add",
        name,
        schema: { name: channels[0]?.["dialect"] },
        base_url: `${url}/v1`,
        strip_path_prefix: "/v1",
        channels,
      },
    ],
  };
}

export const aliasOf = (provider: string, model: string): string => `${provider}/${model}`;

export const aliases = (provider: string, models: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(models.map((model) => [aliasOf(provider, model), model]));

export interface Rig {
  readonly gateway: Gateway;
  readonly clients: Clients;
  readonly simulators: Readonly<Record<Dialect, Simulator>>;
}

export const ALLOWING = "-allowing";

export async function startRig(owner: Owner, models: readonly string[]): Promise<Rig> {
  const [compat, messages] = await Promise.all([simulated(owner), simulated(owner)]);
  const simulators = { compat, messages };
  const gateway = await startWithFiles(owner, {
    catalog_overlays: UPSTREAMS.map((dialect) => surface({ name: dialect, dialect, url: simulators[dialect].url })),
    providers: UPSTREAMS.flatMap((preset) =>
      ["", ALLOWING].map((suffix) => ({
        name: preset + suffix,
        preset,
        model_aliases: aliases(preset + suffix, models),
        on_fidelity_loss: suffix === "" ? "reject" : "allow",
      })),
    ),
  });
  return { gateway, clients: clientsOf(gateway.url), simulators };
}

/** A request received by the simulated provider. */
export interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Document;
  /** The body as it was sent, if it was JSON. */
  readonly text: string | null;
}

export async function receivedBy({ url }: Simulator): Promise<Received> {
  const response = await fetch(`${url}/sim/last?n=1`);
  const [newest] = (await response.json()) as readonly Received[];
  if (newest === undefined) throw new Error("the provider has received nothing");
  return newest;
}
