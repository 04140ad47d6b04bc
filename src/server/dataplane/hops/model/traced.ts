/**
 * Adds span attributes of model requests to those of HTTP: what each attempt requests from which provider, and what the answers
 * report.
 */
import type { AttemptTracer } from "../../../../base/index.ts";
import type { Downstream } from "../../../upstream/index.ts";
import {
  inWords,
  modelWords,
  operationOf,
  ToldAnswer,
  toldAttributes,
  usageAttributes,
} from "../../conventions/index.ts";
import type { Exchange } from "../../exchange.ts";
import type { Meter } from "../../metering/index.ts";
import type { Target } from "./address.ts";
import type { Admitted } from "./admit.ts";

interface Traced {
  readonly exchange: Pick<Exchange, "span" | "labels" | "told">;
  readonly target: Pick<Target, "label" | "model" | "route" | "streams">;
}

/** Returns the tracer of attempts, or `undefined` if traces are not exported. */
export function tracedAttempts({ exchange, target }: Traced, meter: Meter | undefined): AttemptTracer | undefined {
  if (exchange.span === undefined) return undefined;
  return inWords(
    exchange.span,
    () => modelWords(exchange.labels, target.streams),
    () => ({ ...usageAttributes(meter?.usage), ...toldAttributes(exchange.told) }),
  );
}

/** Returns a stage that reads the answer of a traced request for its span as it passes. */
export function watched(downstream: Downstream, { model }: Pick<Admitted, "model">, { exchange, target }: Traced) {
  if (exchange.span === undefined || operationOf(target.route.name)?.hasReasons !== true) return downstream;
  // The upstream model name is part of the configuration if an alias maps to it.
  const named = model === undefined || model === target.model ? [target.label] : [target.label, model];
  exchange.told = new ToldAnswer(downstream, named);
  return exchange.told;
}
