/** Tiny tokenizers of the three kinds that models use, built from the texts that they tokenize. */

/** `vocabulary` is the tokens that it can produce. */
export interface TinyTokenizer {
  readonly json: string;
  readonly vocabulary: number;
  readonly continuingPrefix: string;
}

const added = (contents: readonly string[]) =>
  contents.map((content, id) => ({
    id,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  }));

const frame = (first: string, last: string, ids: readonly [number, number]) => {
  const special = (id: string) => ({ SpecialToken: { id, type_id: 0 } });
  const sequence = { Sequence: { id: "A", type_id: 0 } };
  return {
    type: "TemplateProcessing",
    single: [special(first), sequence, special(last)],
    pair: [
      special(first),
      sequence,
      special(last),
      { Sequence: { id: "B", type_id: 1 } },
      { SpecialToken: { id: last, type_id: 1 } },
    ],
    special_tokens: {
      [first]: { id: first, ids: [ids[0]], tokens: [first] },
      [last]: { id: last, ids: [ids[1]], tokens: [last] },
    },
  };
};

/** Sorted by falling frequency, then by text. */
function frequent(counts: ReadonlyMap<string, number>, most: number): readonly string[] {
  return [...counts]
    .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    .slice(0, most)
    .map(([piece]) => piece);
}

function count(pieces: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const piece of pieces) counts.set(piece, (counts.get(piece) ?? 0) + 1);
  return counts;
}

function* partsOf(words: Iterable<string>, least: number, most: number): Generator<string> {
  for (const word of words) {
    const letters = [...word];
    for (let from = 0; from < letters.length; from++) {
      for (let to = from + least; to <= Math.min(letters.length, from + most); to++)
        yield letters.slice(from, to).join("");
    }
  }
}

/** A tokenizer like BERT's. Its truncation and padding settings must be ignored. */
export function wordPiece(texts: readonly string[]): TinyTokenizer {
  const words = texts.flatMap(
    (text) =>
      text
        .toLowerCase()
        .normalize("NFD")
        .replace(/\p{Mn}/gu, "")
        .match(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu) ?? [],
  );
  const starts = frequent(
    count(words.flatMap((word) => [...partsOf([word.slice(0, 4)], 1, 4)].filter((part) => word.startsWith(part)))),
    260,
  );
  const inner = frequent(
    count(
      partsOf(
        words.map((word) => [...word].slice(1).join("")),
        1,
        3,
      ),
    ),
    260,
  );
  const tokens = [...new Set(["[PAD]", "[UNK]", "[CLS]", "[SEP]", ...starts, ...inner.map((part) => `##${part}`)])];
  const json = JSON.stringify({
    version: "1.0",
    truncation: { direction: "Right", max_length: 16, strategy: "LongestFirst", stride: 0 },
    padding: {
      strategy: { Fixed: 16 },
      direction: "Right",
      pad_to_multiple_of: null,
      pad_id: 0,
      pad_type_id: 0,
      pad_token: "[PAD]",
    },
    added_tokens: added(["[PAD]", "[UNK]", "[CLS]", "[SEP]"]),
    normalizer: {
      type: "BertNormalizer",
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: frame("[CLS]", "[SEP]", [2, 3]),
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
    },
  });
  return { json, vocabulary: tokens.length, continuingPrefix: "##" };
}

/** Whole lower-case words, from id 4 on; others are unknown. */
export function wholeWords(words: readonly string[]): TinyTokenizer {
  const tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", ...words];
  const json = JSON.stringify({
    version: "1.0",
    added_tokens: added(tokens.slice(0, 4)),
    normalizer: {
      type: "BertNormalizer",
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: frame("[CLS]", "[SEP]", [2, 3]),
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
    },
  });
  return { json, vocabulary: tokens.length, continuingPrefix: "##" };
}

/** The characters that byte-level tokenizers use for bytes. */
function byteLetters(): readonly string[] {
  const letters: string[] = [];
  let extra = 0;
  for (let byte = 0; byte < 256; byte++) {
    const isPrinted = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    letters.push(String.fromCodePoint(isPrinted ? byte : 256 + extra++));
  }
  return letters;
}

/** A tokenizer like RoBERTa's. */
export function byteLevel(texts: readonly string[]): TinyTokenizer {
  const letters = byteLetters();
  const words = count(
    texts.flatMap((text) => text.match(/ ?[\p{L}]+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu) ?? []),
  );
  const split = [...words].map(([word, times]) => ({
    parts: [...Buffer.from(word)].map((byte) => letters[byte] as string),
    times,
  }));
  const merges: [string, string][] = [];
  const made: string[] = [];
  for (let round = 0; round < 250; round++) {
    const pairs = new Map<string, number>();
    for (const { parts, times } of split) {
      for (let at = 1; at < parts.length; at++) {
        const pair = `${parts[at - 1]} ${parts[at]}`;
        pairs.set(pair, (pairs.get(pair) ?? 0) + times);
      }
    }
    const [left = "", right = ""] = (frequent(pairs, 1)[0] ?? "").split(" ");
    merges.push([left, right]);
    made.push(left + right);
    for (const { parts } of split) {
      for (let at = 1; at < parts.length; at++) {
        if (parts[at - 1] === left && parts[at] === right) parts.splice(at - 1, 2, left + right);
      }
    }
  }
  const tokens = [...new Set(["<s>", "<pad>", "</s>", "<unk>", ...letters, ...made])];
  const json = JSON.stringify({
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: added(["<s>", "<pad>", "</s>", "<unk>"]),
    normalizer: null,
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: true },
    post_processor: frame("<s>", "</s>", [0, 2]),
    decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: "",
      end_of_word_suffix: "",
      fuse_unk: false,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges,
    },
  });
  return { json, vocabulary: tokens.length, continuingPrefix: "" };
}

/** A tokenizer like XLM-RoBERTa's (SentencePiece). Rare letters are unknown. */
export function unigram(texts: readonly string[]): TinyTokenizer {
  const words = texts.flatMap((text) =>
    text
      .normalize("NFKC")
      .split(/\s+/)
      .map((word) => `▁${word}`),
  );
  const counts = count(partsOf(words, 1, 5));
  const pieces = frequent(counts, 600);
  const total = pieces.reduce((sum, piece) => sum + (counts.get(piece) ?? 0), 0);
  const vocab = [
    ...["<s>", "<pad>", "</s>", "<unk>"].map((token) => [token, 0] as const),
    ...pieces.map(
      (piece) => [piece, Math.log((counts.get(piece) ?? 1) / total) + 2 * ([...piece].length - 1)] as const,
    ),
  ];
  const json = JSON.stringify({
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: added(["<s>", "<pad>", "</s>", "<unk>"]),
    normalizer: { type: "NFKC" },
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [
        { type: "WhitespaceSplit" },
        { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true },
      ],
    },
    post_processor: frame("<s>", "</s>", [0, 2]),
    decoder: { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true },
    model: { type: "Unigram", unk_id: 3, vocab, byte_fallback: false },
  });
  return { json, vocabulary: vocab.length, continuingPrefix: "" };
}
