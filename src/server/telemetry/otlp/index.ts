/** OTLP export, when the environment asks for it. Loads no OpenTelemetry package by itself. */

export { type Otlp, type OtlpOptions, openOtlp } from "./open-otlp.ts";
