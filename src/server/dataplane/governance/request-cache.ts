/**
 * Caches the data that requests of a caller for the same model share: the verdict of access rules on model requests, which
 * depends on nothing else, and the name under which their costs are averaged. Rules for other traffic types read arguments and
 * are always evaluated.
 */
import type { Verdict } from "../../core/policy/index.ts";
import type { Provider } from "../../upstream/index.ts";

/** Names that identify equal requests. */
export interface RequestNames {
  readonly provider: Provider;
  /** Name of the route. */
  readonly route: string;
  /** Model as the client requested it; `undefined` without one. */
  readonly model: string | undefined;
  /** Model as sent to the provider. */
  readonly upstreamModel: string | undefined;
}

interface CachedRequest extends RequestNames {
  /** Verdict of the access rules; `undefined` before the first request. */
  verdict: Verdict | undefined;
  /** Label of the model with which `averageKeys` was built. */
  label: string;
  /** Names under which costs are averaged, by size class of the request. */
  averageKeys: Map<number, string> | undefined;
}

/** Maximum number of remembered requests per caller. It is limited, because clients choose the names of models. */
const MAX_ENTRIES = 8;
/** Maximum length of a model name, in UTF-16 units. */
const MAX_MODEL_LENGTH = 128;

/** Requests of one caller. They are compared one by one, because most callers use one or two models. */
export class RequestCache {
  readonly #entries: CachedRequest[] = [];
  #next = 0;

  /** Returns the entry of the request. A new entry replaces the oldest. */
  entryFor({ provider, route, model, upstreamModel }: RequestNames): CachedRequest {
    for (const known of this.#entries) {
      const isSame = known.model === model && known.provider === provider && known.route === route;
      if (isSame && known.upstreamModel === upstreamModel) return known;
    }
    const made: CachedRequest = {
      provider,
      route,
      model: ownCopy(model),
      upstreamModel: ownCopy(upstreamModel),
      verdict: undefined,
      label: "",
      averageKeys: undefined,
    };
    if (isLong(model) || isLong(upstreamModel)) return made;
    this.#entries[this.#next] = made;
    this.#next = (this.#next + 1) % MAX_ENTRIES;
    return made;
  }
}

const isLong = (model: string | undefined): boolean => model !== undefined && model.length > MAX_MODEL_LENGTH;

/** Copies a model name, because a substring of a long URL keeps the whole URL in memory. */
const ownCopy = (model: string | undefined): string | undefined => model && Buffer.from(model).toString();
