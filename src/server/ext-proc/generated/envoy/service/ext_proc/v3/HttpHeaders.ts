// Original file: proto/external_processor.proto

import type { HeaderMap as _envoy_service_ext_proc_v3_HeaderMap, HeaderMap__Output as _envoy_service_ext_proc_v3_HeaderMap__Output } from '../../../../envoy/service/ext_proc/v3/HeaderMap.ts';

export interface HttpHeaders {
  'headers'?: (_envoy_service_ext_proc_v3_HeaderMap | null);
  'end_of_stream'?: (boolean);
}

export interface HttpHeaders__Output {
  'headers'?: (_envoy_service_ext_proc_v3_HeaderMap__Output);
  'end_of_stream'?: (boolean);
}
