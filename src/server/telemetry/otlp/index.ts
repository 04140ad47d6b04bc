/** Exports by OTLP if the environment configures it. This folder's index loads no OpenTelemetry package itself. */

export { type Otlp, type OtlpOptions, openOtlp } from "./open-otlp.ts";
