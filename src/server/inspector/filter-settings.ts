/**
 * Determines the settings that the filter of a peer needs to work with this inspector. They are logged when a peer is set
 * differently, and printed by `gateway dev -inspector`. Source: ext-proc reference, A.2 to A.5.
 */

/** Body modes, as in `extproc` of the node file. */
export interface BodyModes {
  readonly request_body_mode: "streamed" | "duplex";
  readonly inspect_responses: "" | "streamed" | "duplex";
}

/** Filter settings, spelled as in an Envoy configuration. */
interface FilterSettings {
  readonly processing_mode: {
    readonly request_header_mode: "SEND";
    readonly response_header_mode: "SEND" | "SKIP";
    readonly request_body_mode: BodyMode;
    readonly response_body_mode: BodyMode;
    readonly request_trailer_mode: "SEND";
    readonly response_trailer_mode: "SEND" | "SKIP";
  };
  readonly allow_mode_override: boolean;
}

type BodyMode = "NONE" | "STREAMED" | "FULL_DUPLEX_STREAMED";

const MODES = { "": "NONE", streamed: "STREAMED", duplex: "FULL_DUPLEX_STREAMED" } as const;

export function filterSettings({
  request_body_mode: request,
  inspect_responses: responses,
}: BodyModes): FilterSettings {
  const isAnswered = responses === "" ? "SKIP" : "SEND";
  return {
    processing_mode: {
      request_header_mode: "SEND",
      response_header_mode: isAnswered,
      request_body_mode: MODES[request],
      response_body_mode: MODES[responses],
      request_trailer_mode: "SEND",
      response_trailer_mode: isAnswered,
    },
    // A filter accepts no override if another mode is duplex.
    allow_mode_override: request === "streamed" && responses !== "duplex",
  };
}

/** Formats the settings as one line of Envoy configuration. */
export function settingsLine(modes: BodyModes): string {
  const { processing_mode: mode, allow_mode_override: mayOverride } = filterSettings(modes);
  const settings = Object.entries(mode).map(([key, value]) => `${key}: ${value}`);
  return `processing_mode: {${settings.join(", ")}}${mayOverride ? ", allow_mode_override: true" : ""}`;
}
