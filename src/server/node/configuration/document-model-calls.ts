/** Calls models of configured providers for a command that judges texts and serves nothing. */

import { createInstruments, nullLog, systemClock } from "../../../base/index.ts";
import { openPresenter } from "../../credentials/index.ts";
import { createMetrics, createModelCalls } from "../../dataplane/index.ts";
import { readForwardProxies } from "../../forward-proxy/index.ts";
import { createAdmission, DEFAULT_ADMISSION } from "../../memory/index.ts";
import type { CallModel, Snapshot } from "../../snapshot/index.ts";
import { openOrigins } from "../../upstream/index.ts";

export interface ModelCallUsage {
  readonly provider: string;
  readonly model: string;
  /** Number of calls; retries and failovers count as one. */
  readonly calls: number;
  /** Prompt tokens, as far as the servers reported them. */
  readonly promptTokens: number;
}

export interface StandaloneModelCalls {
  readonly callModel: CallModel;
  /** Returns the usage so far, in the order of each model's first call. */
  readonly usage: () => readonly ModelCallUsage[];
  readonly close: () => Promise<void>;
}

/** Opens model calls with credential, retry and failover like a gateway; nothing is suspended, and no usage is stored. */
export function openStandaloneModelCalls(
  snapshot: Snapshot,
  env: Readonly<Record<string, string | undefined>>,
): StandaloneModelCalls {
  const origins = openOrigins({ proxies: readForwardProxies(env).proxies });
  const instruments = createInstruments();
  const metrics = createMetrics(instruments, nullLog);
  // Provider credentials do not use an issuer's tokens.
  const issuer = () => undefined;
  const presenter = openPresenter({ issuer, env, clock: systemClock, instruments, log: nullLog });
  const admission = createAdmission(DEFAULT_ADMISSION);
  const call = createModelCalls({ snapshot: () => snapshot, origins, admission, presenter, metrics });
  const spent = new Map<string, ModelCallUsage>();
  const count = (provider: string, model: string, calls: number, promptTokens: number): void => {
    const key = JSON.stringify([provider, model]);
    const before = spent.get(key) ?? { provider, model, calls: 0, promptTokens: 0 };
    spent.set(key, { ...before, calls: before.calls + calls, promptTokens: before.promptTokens + promptTokens });
  };
  return {
    async callModel(question, signal) {
      count(question.provider, question.model, 1, 0);
      const answer = await call(question, signal);
      count(question.provider, question.model, 0, answer.promptTokens ?? 0);
      return answer;
    },
    usage: () => [...spent.values()],
    close: () => {
      presenter.close();
      return origins.close();
    },
  };
}
