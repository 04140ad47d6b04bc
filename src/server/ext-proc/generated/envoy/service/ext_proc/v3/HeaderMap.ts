// Original file: proto/external_processor.proto

import type { HeaderValue as _envoy_service_ext_proc_v3_HeaderValue, HeaderValue__Output as _envoy_service_ext_proc_v3_HeaderValue__Output } from '../../../../envoy/service/ext_proc/v3/HeaderValue.ts';

export interface HeaderMap {
  'headers'?: (_envoy_service_ext_proc_v3_HeaderValue)[];
}

export interface HeaderMap__Output {
  'headers'?: (_envoy_service_ext_proc_v3_HeaderValue__Output)[];
}
