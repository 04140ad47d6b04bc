/** OTLP export, if the environment configures it. Loads no OpenTelemetry package itself. */

export { type Otlp, type OtlpOptions, openOtlp } from "./open-otlp.ts";
