/**
 * Adds span attributes of model requests to those of HTTP: what each attempt requests from which provider, and what the answers
 * report.
 */
import type { AttemptTracer } from "../../../../base/index.ts";
import type { Downstream } from "../../../upstream/index.ts";
import {
  modelSpanNaming,
  operationOf,
  ReportedAnswerReader,
  reportedAttributes,
  usageAttributes,
  withSpanNaming,
} from "../../conventions/index.ts";
import type { Meter } from "../../metering/index.ts";
import type { RequestReport } from "../../request-report.ts";
import type { AdmittedProvider } from "./admit.ts";
import type { Target } from "./resolve-target.ts";

interface TracedRequest {
  readonly report: Pick<RequestReport, "span" | "labels" | "reportedAnswer">;
  readonly target: Pick<Target, "label" | "model" | "route" | "streams">;
}

/** Returns the tracer of attempts, or `undefined` if traces are not exported. */
export function attemptTracer({ report, target }: TracedRequest, meter: Meter | undefined): AttemptTracer | undefined {
  if (report.span === undefined) return undefined;
  return withSpanNaming(
    report.span,
    () => modelSpanNaming(report.labels, target.streams),
    () => ({ ...usageAttributes(meter?.usage), ...reportedAttributes(report.reportedAnswer) }),
  );
}

/** Returns a stage that reads the answer of a traced request for its span as it passes. */
export function traceAnswer(
  downstream: Downstream,
  { model }: Pick<AdmittedProvider, "model">,
  { report, target }: TracedRequest,
) {
  if (report.span === undefined || operationOf(target.route.name)?.hasReasons !== true) return downstream;
  // The upstream model name is part of the configuration if an alias maps to it.
  const named = model === undefined || model === target.model ? [target.label] : [target.label, model];
  report.reportedAnswer = new ReportedAnswerReader(downstream, named);
  return report.reportedAnswer;
}
