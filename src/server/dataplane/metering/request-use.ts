/**
 * Keeps the entry of one request or WebSocket session in the usage ledger. A request is added once, at its end; a session is
 * added in parts, because it may last for hours.
 */
import type { Use } from "../../core/budgets/index.ts";
import type { Usage } from "../../core/dialects/index.ts";
import type { EffectiveProfile } from "../governance/effective-profile.ts";
import type { Account, UsedOf } from "./types.ts";
import type { UsageLedger } from "./usage-ledger.ts";

interface UseOf {
  readonly hop: Use["hop"];
  /** Provider, MCP server or agent of the first attempt. */
  readonly provider: string;
  /** Label of the model: a name or pattern of the configuration. It is used until a provider has answered for the model. */
  readonly label?: string;
  /** Name of the route; absent without one. */
  readonly route?: string;
  readonly isSession?: boolean;
}

/** Caller, with its name in the ledger. */
type User = Pick<EffectiveProfile, "name"> & { readonly profile: Pick<EffectiveProfile["profile"], "name"> };

/** Begins an entry. Returns `undefined` if no ledger is kept. */
export const beginUse = (ledger: UsageLedger | undefined, user: User, of: UseOf): RequestUse | undefined =>
  ledger && new RequestUse(ledger, user, of);

/** Maximum length of a model name, in UTF-16 units. */
const MAX_MODEL_LENGTH = 128;

/** This is a class because one is created per request: methods of an object literal would be created each time. */
export class RequestUse implements Account {
  readonly #ledger: UsageLedger;
  readonly #user: User;
  readonly #of: UseOf;
  #provider: string;
  #model: string;
  #tokens: Usage | undefined;
  #units = 0;
  #unmeasured = 0;
  #isEnded = false;
  /** Provider of the last attempt; `undefined` without one. */
  #asked: string | undefined;
  #askedModel = "";

  constructor(ledger: UsageLedger, user: User, of: UseOf) {
    this.#ledger = ledger;
    this.#user = user;
    this.#of = of;
    this.#provider = of.provider;
    this.#model = of.label ?? "";
  }

  counted(usage: Usage, { provider, model }: UsedOf): void {
    this.#at(provider, model);
    if (this.#tokens !== undefined) this.#tell(0, 0);
    this.#tokens = usage;
    if (this.#of.isSession === true) this.#tell(0, 0);
  }

  unmeasured({ provider, model }: UsedOf): void {
    this.#at(provider, model);
    this.#unmeasured += 1;
  }

  /** Records an attempt. The request is counted under the provider and model of its last attempt. */
  asked(provider: string, model: string): void {
    this.#asked = provider;
    this.#askedModel = model;
  }

  spent(units: number, { provider, model }: UsedOf): void {
    if (provider !== this.#provider) this.#at(provider, model);
    this.#units += units;
    if (this.#of.isSession === true) this.#tell(0, 0);
  }

  /**
   * Adds the remaining counts to the ledger. Must be called once, at the very end. A model is only named if a provider answered
   * for it, because callers may send any name.
   */
  end(hasFailed: boolean): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (this.#asked !== undefined && this.#tokens === undefined && this.#unmeasured === 0) {
      this.#at(this.#asked, hasFailed ? "" : this.#askedModel);
    }
    this.#tell(1, hasFailed ? 1 : 0);
  }

  #at(provider: string, model: string): void {
    const named = model === "" ? (this.#of.label ?? "") : model.slice(0, MAX_MODEL_LENGTH);
    if (provider === this.#provider && named === this.#model) return;
    if (this.#tokens !== undefined || this.#units > 0 || this.#unmeasured > 0) this.#tell(0, 0);
    this.#provider = provider;
    this.#model = named;
  }

  #tell(requests: number, failed: number): void {
    const { hop, route = "" } = this.#of;
    const { name, profile } = this.#user;
    const use: Use = {
      hop,
      caller: name,
      profile: profile.name ?? "",
      provider: this.#provider,
      model: this.#model,
      kind: MEDIA.test(route) ? "media" : "tokens",
      requests,
      failed,
      tokens: this.#tokens,
      unmeasured: this.#unmeasured,
      units: this.#units,
    };
    this.#ledger.add(use);
    this.#tokens = undefined;
    this.#unmeasured = 0;
    this.#units = 0;
  }
}

/** Routes whose usage providers measure in images, characters or seconds rather than tokens. */
const MEDIA = /^(?:images|audio|videos)(?:_|$)/;
