// Original file: proto/external_processor.proto


export interface HeaderValue {
  'key'?: (string);
  'value'?: (string);
  'raw_value'?: (Buffer | Uint8Array | string);
}

export interface HeaderValue__Output {
  'key'?: (string);
  'value'?: (string);
  'raw_value'?: (Buffer);
}
