/** The whole compiled configuration, frozen. A request takes one at its start and keeps it to its end. */
import type { Provider } from "../upstream/index.ts";

export interface Routed {
  readonly provider: Provider;
  /** The name or pattern of the configuration that matched: a label that callers cannot multiply. */
  readonly label: string;
}

export interface Snapshot {
  /** In the order of the document. */
  readonly providers: readonly Provider[];
  readonly byName: ReadonlyMap<string, Provider>;
  /** Serves models that match no provider, and requests without a model. */
  readonly defaultProvider: Provider | undefined;
  readonly maxBodyBytes: number;
  /** The first provider that claims the model by name, pattern or alias, else the default. */
  readonly route: (model: string) => Routed | undefined;
  /**
   * Names and patterns in the order in which `route` tries them, each under its provider: the first that is the model, or
   * a prefix of it, wins; the default provider takes the rest. Those that can never win are left out.
   */
  readonly claims: readonly Routed[];
  /** Where requests without a model go. */
  readonly modelless: Routed | undefined;
  /** Aliases of all providers, with the provider's name, as `GET /v1/models` advertises them. */
  readonly aliases: readonly { readonly alias: string; readonly provider: string }[];
}

/** `max_body_bytes: 0`, and the flag's default: 32 MiB. */
export const DEFAULT_MAX_BODY_BYTES = 32 << 20;
