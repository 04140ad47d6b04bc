/** Models of configured providers, called by a verb that judges texts and serves nobody. */

import { createInstruments, nullLog, systemClock } from "../../base/index.ts";
import { openPresenter } from "../credentials/index.ts";
import { createMetrics, createModelCalls } from "../dataplane/index.ts";
import { readForwardProxies } from "../forward-proxy/index.ts";
import { createAdmission, DEFAULT_ADMISSION } from "../memory/index.ts";
import type { CallModel, Snapshot } from "../snapshot/index.ts";
import { openOrigins } from "../upstream/index.ts";

export interface SpentCalls {
  readonly provider: string;
  readonly model: string;
  /** Those that were repeated or failed over are one. */
  readonly calls: number;
  /** Tokens of the questions, as far as the servers told. */
  readonly promptTokens: number;
}

export interface ModelCallsAlone {
  readonly callModel: CallModel;
  /** So far, in the order of the first call of each. */
  readonly spent: () => readonly SpentCalls[];
  readonly close: () => Promise<void>;
}

/** With credential, retry and failover as a gateway has them; nothing is suspended, and nothing is kept of what was spent. */
export function openModelCallsAlone(
  snapshot: Snapshot,
  env: Readonly<Record<string, string | undefined>>,
): ModelCallsAlone {
  const origins = openOrigins({ proxies: readForwardProxies(env).proxies });
  const instruments = createInstruments();
  const metrics = createMetrics(instruments, nullLog);
  // Of providers, which take no tokens of an issuer.
  const issuer = () => undefined;
  const presenter = openPresenter({ issuer, env, clock: systemClock, instruments, log: nullLog });
  const admission = createAdmission(DEFAULT_ADMISSION);
  const call = createModelCalls({ snapshot: () => snapshot, origins, admission, presenter, metrics });
  const spent = new Map<string, SpentCalls>();
  const count = (provider: string, model: string, calls: number, promptTokens: number): void => {
    const key = JSON.stringify([provider, model]);
    const before = spent.get(key) ?? { provider, model, calls: 0, promptTokens: 0 };
    spent.set(key, { ...before, calls: before.calls + calls, promptTokens: before.promptTokens + promptTokens });
  };
  return {
    async callModel(question, signal) {
      count(question.provider, question.model, 1, 0);
      const said = await call(question, signal);
      count(question.provider, question.model, 0, said.promptTokens ?? 0);
      return said;
    },
    spent: () => [...spent.values()],
    close: () => {
      presenter.close();
      return origins.close();
    },
  };
}
