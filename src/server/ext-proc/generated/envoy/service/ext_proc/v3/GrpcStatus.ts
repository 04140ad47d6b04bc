// Original file: proto/external_processor.proto


export interface GrpcStatus {
  'status'?: (number);
}

export interface GrpcStatus__Output {
  'status'?: (number);
}
