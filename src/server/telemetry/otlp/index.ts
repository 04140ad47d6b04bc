/** Exports by OTLP if the environment configures it. This folder's index loads no OpenTelemetry package itself. */

export { type Otlp, openOtlp } from "./open-otlp.ts";
