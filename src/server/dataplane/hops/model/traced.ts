/** What spans say of a request to a model beyond HTTP: whom its attempts ask for what, and what the answers told. */
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

export interface Traced {
  readonly exchange: Pick<Exchange, "span" | "labels" | "told">;
  readonly target: Pick<Target, "label" | "model" | "route" | "streams">;
}

/** Undefined when nobody traces. */
export function tracedAttempts({ exchange, target }: Traced, meter: Meter | undefined): AttemptTracer | undefined {
  if (exchange.span === undefined) return undefined;
  return inWords(
    exchange.span,
    () => modelWords(exchange.labels, target.streams),
    () => ({ ...usageAttributes(meter?.usage), ...toldAttributes(exchange.told) }),
  );
}

/** Of a request that is traced, what spans tell of its answer is read as that passes. */
export function watched(downstream: Downstream, { model }: Pick<Admitted, "model">, { exchange, target }: Traced) {
  if (exchange.span === undefined || operationOf(target.route.name)?.hasReasons !== true) return downstream;
  // A model's name is the configuration's where an alias stands for it.
  const named = model === undefined || model === target.model ? [target.label] : [target.label, model];
  exchange.told = new ToldAnswer(downstream, named);
  return exchange.told;
}
