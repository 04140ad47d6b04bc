// Original file: proto/external_processor.proto


export interface HttpStatus {
  'code'?: (number);
}

export interface HttpStatus__Output {
  'code'?: (number);
}
