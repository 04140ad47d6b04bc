/**
 * Keeps the entry of one request or WebSocket session in the usage ledger. A request is added once, at its end; a session is
 * added in parts, because it may last for hours.
 */
import type { Use } from "../../core/budgets/index.ts";
import type { Usage } from "../../core/dialects/index.ts";
import type { EffectiveProfile } from "../governance/effective-profile.ts";
import type { UsageAccount, UsageSource } from "./types.ts";
import type { UsageLedger } from "./usage-ledger.ts";

interface FirstTarget {
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
export const beginUse = (ledger: UsageLedger | undefined, user: User, of: FirstTarget): RequestUse | undefined =>
  ledger && new RequestUse(ledger, user, of);

/** Maximum length of a model name, in UTF-16 units. */
const MAX_MODEL_LENGTH = 128;

/** This is a class because one is created per request: methods of an object literal would be created each time. */
export class RequestUse implements UsageAccount {
  readonly #ledger: UsageLedger;
  readonly #user: User;
  readonly #target: FirstTarget;
  #provider: string;
  #model: string;
  #tokens: Usage | undefined;
  #units = 0;
  #unmeasured = 0;
  #isEnded = false;
  /** Provider of the last attempt; `undefined` without one. */
  #lastProvider: string | undefined;
  #lastModel = "";

  constructor(ledger: UsageLedger, user: User, of: FirstTarget) {
    this.#ledger = ledger;
    this.#user = user;
    this.#target = of;
    this.#provider = of.provider;
    this.#model = of.label ?? "";
  }

  addUsage(usage: Usage, { provider, model }: UsageSource): void {
    this.#switchTo(provider, model);
    if (this.#tokens !== undefined) this.#flush(0, 0);
    this.#tokens = usage;
    if (this.#target.isSession === true) this.#flush(0, 0);
  }

  countUnmeasured({ provider, model }: UsageSource): void {
    this.#switchTo(provider, model);
    this.#unmeasured += 1;
  }

  /** Records an attempt. The request is counted under the provider and model of its last attempt. */
  recordAttempt(provider: string, model: string): void {
    this.#lastProvider = provider;
    this.#lastModel = model;
  }

  addUnits(units: number, { provider, model }: UsageSource): void {
    if (provider !== this.#provider) this.#switchTo(provider, model);
    this.#units += units;
    if (this.#target.isSession === true) this.#flush(0, 0);
  }

  /**
   * Adds the remaining counts to the ledger. Must be called once, at the very end. A model is only named if a provider answered
   * for it, because callers may send any name.
   */
  end(hasFailed: boolean): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (this.#lastProvider !== undefined && this.#tokens === undefined && this.#unmeasured === 0) {
      this.#switchTo(this.#lastProvider, hasFailed ? "" : this.#lastModel);
    }
    this.#flush(1, hasFailed ? 1 : 0);
  }

  #switchTo(provider: string, model: string): void {
    const named = model === "" ? (this.#target.label ?? "") : model.slice(0, MAX_MODEL_LENGTH);
    if (provider === this.#provider && named === this.#model) return;
    if (this.#tokens !== undefined || this.#units > 0 || this.#unmeasured > 0) this.#flush(0, 0);
    this.#provider = provider;
    this.#model = named;
  }

  #flush(requests: number, failed: number): void {
    const { hop, route = "" } = this.#target;
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
