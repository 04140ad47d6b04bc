/**
 * What one request, or one WebSocket session, adds to the ledger of usage: told once, when it is over; a session tells as it
 * goes, since it may last for hours.
 */
import type { Use } from "../../core/budgets/index.ts";
import type { Usage } from "../../core/dialects/index.ts";
import type { Standing } from "../governance/standing.ts";
import type { Account, UsedOf } from "./types.ts";
import type { UsageLedger } from "./used.ts";

export interface UseOf {
  readonly hop: Use["hop"];
  /** Provider, server or agent that is asked first. */
  readonly provider: string;
  /** Of the model: a name or pattern of the configuration, which stands for it while no provider has answered for it. */
  readonly label?: string;
  /** Name of the route, or none. */
  readonly route?: string;
  readonly isSession?: boolean;
}

/** Whose it is: name as the ledger has it. */
type User = Pick<Standing, "name"> & { readonly profile: Pick<Standing["profile"], "name"> };

/** Undefined: nobody keeps a ledger. */
export const beginUse = (ledger: UsageLedger | undefined, user: User, of: UseOf): RequestUse | undefined =>
  ledger && new RequestUse(ledger, user, of);

/** UTF-16 units. */
const MAX_MODEL_LENGTH = 128;

/** A class, since there is one for each request: its methods are made once. */
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
  /** Of the last attempt; undefined: there was none. */
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

  /** An attempt begins; of the last one the request is counted. */
  asked(provider: string, model: string): void {
    this.#asked = provider;
    this.#askedModel = model;
  }

  spent(units: number, { provider, model }: UsedOf): void {
    if (provider !== this.#provider) this.#at(provider, model);
    this.#units += units;
    if (this.#of.isSession === true) this.#tell(0, 0);
  }

  /** Once, at the very end. A model that no provider has answered for is not named: a caller may write anything. */
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

/** Routes whose work providers report by other counters than tokens: pictures, characters, seconds. */
const MEDIA = /^(?:images|audio|videos)(?:_|$)/;
