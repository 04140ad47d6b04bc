/**
 * Text for the clipboard of the machine where the terminal is shown: OSC 52 (XTerm Control Sequences, "Operating System
 * Commands"). Terminals may ignore it, so what is copied is also shown.
 */

/** Of the text in base64. Beyond it some terminals take a part, which is worse than nothing. */
export const MAX_CLIPBOARD_LENGTH = 74_994;

export interface ClipboardOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What to write to the terminal; undefined when the text is too long for it. */
export function osc52(text: string, { env }: ClipboardOptions): string | undefined {
  const encoded = Buffer.from(text, "utf8").toString("base64");
  if (encoded.length > MAX_CLIPBOARD_LENGTH) return undefined;
  const sequence = `\u001b]52;c;${encoded}\u0007`;
  // tmux hands on what stands in a DCS of its own, each ESC in it doubled.
  return (env["TMUX"] ?? "") === "" ? sequence : `\u001bPtmux;${sequence.replaceAll("\u001b", "\u001b\u001b")}\u001b\\`;
}
