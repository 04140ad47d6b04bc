// Original file: proto/external_processor.proto

import type { _envoy_service_ext_proc_v3_ProcessingMode_BodySendMode, _envoy_service_ext_proc_v3_ProcessingMode_BodySendMode__Output } from '../../../../envoy/service/ext_proc/v3/ProcessingMode.ts';

export interface ProtocolConfiguration {
  'request_body_mode'?: (_envoy_service_ext_proc_v3_ProcessingMode_BodySendMode);
  'response_body_mode'?: (_envoy_service_ext_proc_v3_ProcessingMode_BodySendMode);
  'send_body_without_waiting_for_header_response'?: (boolean);
}

export interface ProtocolConfiguration__Output {
  'request_body_mode'?: (_envoy_service_ext_proc_v3_ProcessingMode_BodySendMode__Output);
  'response_body_mode'?: (_envoy_service_ext_proc_v3_ProcessingMode_BodySendMode__Output);
  'send_body_without_waiting_for_header_response'?: (boolean);
}
