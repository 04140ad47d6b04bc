/** Types of the messages in proto/, written by `npm run generate:proto`. */
import type * as grpc from "@grpc/grpc-js";
import type { EnumTypeDefinition, MessageTypeDefinition, MethodDefinition } from "@grpc/proto-loader";

export interface BodyMutation {
  'body'?: (Buffer | Uint8Array | string);
  'clear_body'?: (boolean);
  'streamed_response'?: (StreamedBodyResponse | null);
  'mutation'?: "body"|"clear_body"|"streamed_response";
}

export interface BodyMutation__Output {
  'body'?: (Buffer);
  'clear_body'?: (boolean);
  'streamed_response'?: (StreamedBodyResponse__Output);
  'mutation'?: "body"|"clear_body"|"streamed_response";
}

export interface BodyResponse {
  'response'?: (CommonResponse | null);
}

export interface BodyResponse__Output {
  'response'?: (CommonResponse__Output);
}

export const CommonResponse_ResponseStatus = {
  CONTINUE: 0,
  CONTINUE_AND_REPLACE: 1,
} as const;

export type CommonResponse_ResponseStatus =
  | 'CONTINUE'
  | 0
  | 'CONTINUE_AND_REPLACE'
  | 1

export type CommonResponse_ResponseStatus__Output = typeof CommonResponse_ResponseStatus[keyof typeof CommonResponse_ResponseStatus]

export interface CommonResponse {
  'status'?: (CommonResponse_ResponseStatus);
  'header_mutation'?: (HeaderMutation | null);
  'body_mutation'?: (BodyMutation | null);
  'trailers'?: (HeaderMap | null);
  'clear_route_cache'?: (boolean);
}

export interface CommonResponse__Output {
  'status'?: (CommonResponse_ResponseStatus__Output);
  'header_mutation'?: (HeaderMutation__Output);
  'body_mutation'?: (BodyMutation__Output);
  'trailers'?: (HeaderMap__Output);
  'clear_route_cache'?: (boolean);
}

export interface ExternalProcessorClient extends grpc.Client {
  Process(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<ProcessingRequest, ProcessingResponse__Output>;
  Process(options?: grpc.CallOptions): grpc.ClientDuplexStream<ProcessingRequest, ProcessingResponse__Output>;
  process(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<ProcessingRequest, ProcessingResponse__Output>;
  process(options?: grpc.CallOptions): grpc.ClientDuplexStream<ProcessingRequest, ProcessingResponse__Output>;
  
}

export interface ExternalProcessorHandlers extends grpc.UntypedServiceImplementation {
  Process: grpc.handleBidiStreamingCall<ProcessingRequest__Output, ProcessingResponse>;
  
}

export interface ExternalProcessorDefinition extends grpc.ServiceDefinition {
  Process: MethodDefinition<ProcessingRequest, ProcessingResponse, ProcessingRequest__Output, ProcessingResponse__Output>
}

export interface GrpcStatus {
  'status'?: (number);
}

export interface GrpcStatus__Output {
  'status'?: (number);
}

export interface HeaderMap {
  'headers'?: (HeaderValue)[];
}

export interface HeaderMap__Output {
  'headers'?: (HeaderValue__Output)[];
}

export interface HeaderMutation {
  'set_headers'?: (HeaderValueOption)[];
  'remove_headers'?: (string)[];
}

export interface HeaderMutation__Output {
  'set_headers'?: (HeaderValueOption__Output)[];
  'remove_headers'?: (string)[];
}

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

export const HeaderValueOption_HeaderAppendAction = {
  APPEND_IF_EXISTS_OR_ADD: 0,
  ADD_IF_ABSENT: 1,
  OVERWRITE_IF_EXISTS_OR_ADD: 2,
  OVERWRITE_IF_EXISTS: 3,
} as const;

export type HeaderValueOption_HeaderAppendAction =
  | 'APPEND_IF_EXISTS_OR_ADD'
  | 0
  | 'ADD_IF_ABSENT'
  | 1
  | 'OVERWRITE_IF_EXISTS_OR_ADD'
  | 2
  | 'OVERWRITE_IF_EXISTS'
  | 3

export type HeaderValueOption_HeaderAppendAction__Output = typeof HeaderValueOption_HeaderAppendAction[keyof typeof HeaderValueOption_HeaderAppendAction]

export interface HeaderValueOption {
  'header'?: (HeaderValue | null);
  'append'?: (BoolValue | null);
  'append_action'?: (HeaderValueOption_HeaderAppendAction);
  'keep_empty_value'?: (boolean);
}

export interface HeaderValueOption__Output {
  'header'?: (HeaderValue__Output);
  'append'?: (BoolValue__Output);
  'append_action'?: (HeaderValueOption_HeaderAppendAction__Output);
  'keep_empty_value'?: (boolean);
}

export interface HeadersResponse {
  'response'?: (CommonResponse | null);
}

export interface HeadersResponse__Output {
  'response'?: (CommonResponse__Output);
}

export interface HttpBody {
  'body'?: (Buffer | Uint8Array | string);
  'end_of_stream'?: (boolean);
  'end_of_stream_without_message'?: (boolean);
  'grpc_message_compressed'?: (boolean);
}

export interface HttpBody__Output {
  'body'?: (Buffer);
  'end_of_stream'?: (boolean);
  'end_of_stream_without_message'?: (boolean);
  'grpc_message_compressed'?: (boolean);
}

export interface HttpHeaders {
  'headers'?: (HeaderMap | null);
  'end_of_stream'?: (boolean);
}

export interface HttpHeaders__Output {
  'headers'?: (HeaderMap__Output);
  'end_of_stream'?: (boolean);
}

export interface HttpStatus {
  'code'?: (number);
}

export interface HttpStatus__Output {
  'code'?: (number);
}

export interface HttpTrailers {
  'trailers'?: (HeaderMap | null);
}

export interface HttpTrailers__Output {
  'trailers'?: (HeaderMap__Output);
}

export interface ImmediateResponse {
  'status'?: (HttpStatus | null);
  'headers'?: (HeaderMutation | null);
  'body'?: (Buffer | Uint8Array | string);
  'grpc_status'?: (GrpcStatus | null);
  'details'?: (string);
}

export interface ImmediateResponse__Output {
  'status'?: (HttpStatus__Output);
  'headers'?: (HeaderMutation__Output);
  'body'?: (Buffer);
  'grpc_status'?: (GrpcStatus__Output);
  'details'?: (string);
}

export interface Metadata {
  'filter_metadata'?: ({[key: string]: Struct});
}

export interface Metadata__Output {
  'filter_metadata'?: ({[key: string]: Struct__Output});
}

export const ProcessingMode_BodySendMode = {
  NONE: 0,
  STREAMED: 1,
  BUFFERED: 2,
  BUFFERED_PARTIAL: 3,
  FULL_DUPLEX_STREAMED: 4,
} as const;

export type ProcessingMode_BodySendMode =
  | 'NONE'
  | 0
  | 'STREAMED'
  | 1
  | 'BUFFERED'
  | 2
  | 'BUFFERED_PARTIAL'
  | 3
  | 'FULL_DUPLEX_STREAMED'
  | 4

export type ProcessingMode_BodySendMode__Output = typeof ProcessingMode_BodySendMode[keyof typeof ProcessingMode_BodySendMode]

export const ProcessingMode_HeaderSendMode = {
  DEFAULT: 0,
  SEND: 1,
  SKIP: 2,
} as const;

export type ProcessingMode_HeaderSendMode =
  | 'DEFAULT'
  | 0
  | 'SEND'
  | 1
  | 'SKIP'
  | 2

export type ProcessingMode_HeaderSendMode__Output = typeof ProcessingMode_HeaderSendMode[keyof typeof ProcessingMode_HeaderSendMode]

export interface ProcessingMode {
  'request_header_mode'?: (ProcessingMode_HeaderSendMode);
  'response_header_mode'?: (ProcessingMode_HeaderSendMode);
  'request_body_mode'?: (ProcessingMode_BodySendMode);
  'response_body_mode'?: (ProcessingMode_BodySendMode);
  'request_trailer_mode'?: (ProcessingMode_HeaderSendMode);
  'response_trailer_mode'?: (ProcessingMode_HeaderSendMode);
}

export interface ProcessingMode__Output {
  'request_header_mode'?: (ProcessingMode_HeaderSendMode__Output);
  'response_header_mode'?: (ProcessingMode_HeaderSendMode__Output);
  'request_body_mode'?: (ProcessingMode_BodySendMode__Output);
  'response_body_mode'?: (ProcessingMode_BodySendMode__Output);
  'request_trailer_mode'?: (ProcessingMode_HeaderSendMode__Output);
  'response_trailer_mode'?: (ProcessingMode_HeaderSendMode__Output);
}

export interface ProcessingRequest {
  'request_headers'?: (HttpHeaders | null);
  'response_headers'?: (HttpHeaders | null);
  'request_body'?: (HttpBody | null);
  'response_body'?: (HttpBody | null);
  'request_trailers'?: (HttpTrailers | null);
  'response_trailers'?: (HttpTrailers | null);
  'metadata_context'?: (Metadata | null);
  'attributes'?: ({[key: string]: Struct});
  'observability_mode'?: (boolean);
  'protocol_config'?: (ProtocolConfiguration | null);
  'request'?: "request_headers"|"response_headers"|"request_body"|"response_body"|"request_trailers"|"response_trailers";
}

export interface ProcessingRequest__Output {
  'request_headers'?: (HttpHeaders__Output);
  'response_headers'?: (HttpHeaders__Output);
  'request_body'?: (HttpBody__Output);
  'response_body'?: (HttpBody__Output);
  'request_trailers'?: (HttpTrailers__Output);
  'response_trailers'?: (HttpTrailers__Output);
  'metadata_context'?: (Metadata__Output);
  'attributes'?: ({[key: string]: Struct__Output});
  'observability_mode'?: (boolean);
  'protocol_config'?: (ProtocolConfiguration__Output);
  'request'?: "request_headers"|"response_headers"|"request_body"|"response_body"|"request_trailers"|"response_trailers";
}

export interface ProcessingResponse {
  'request_headers'?: (HeadersResponse | null);
  'response_headers'?: (HeadersResponse | null);
  'request_body'?: (BodyResponse | null);
  'response_body'?: (BodyResponse | null);
  'request_trailers'?: (TrailersResponse | null);
  'response_trailers'?: (TrailersResponse | null);
  'immediate_response'?: (ImmediateResponse | null);
  'dynamic_metadata'?: (Struct | null);
  'mode_override'?: (ProcessingMode | null);
  'override_message_timeout'?: (Duration | null);
  'response'?: "request_headers"|"response_headers"|"request_body"|"response_body"|"request_trailers"|"response_trailers"|"immediate_response";
}

export interface ProcessingResponse__Output {
  'request_headers'?: (HeadersResponse__Output);
  'response_headers'?: (HeadersResponse__Output);
  'request_body'?: (BodyResponse__Output);
  'response_body'?: (BodyResponse__Output);
  'request_trailers'?: (TrailersResponse__Output);
  'response_trailers'?: (TrailersResponse__Output);
  'immediate_response'?: (ImmediateResponse__Output);
  'dynamic_metadata'?: (Struct__Output);
  'mode_override'?: (ProcessingMode__Output);
  'override_message_timeout'?: (Duration__Output);
  'response'?: "request_headers"|"response_headers"|"request_body"|"response_body"|"request_trailers"|"response_trailers"|"immediate_response";
}

export interface ProtocolConfiguration {
  'request_body_mode'?: (ProcessingMode_BodySendMode);
  'response_body_mode'?: (ProcessingMode_BodySendMode);
  'send_body_without_waiting_for_header_response'?: (boolean);
}

export interface ProtocolConfiguration__Output {
  'request_body_mode'?: (ProcessingMode_BodySendMode__Output);
  'response_body_mode'?: (ProcessingMode_BodySendMode__Output);
  'send_body_without_waiting_for_header_response'?: (boolean);
}

export interface StreamedBodyResponse {
  'body'?: (Buffer | Uint8Array | string);
  'end_of_stream'?: (boolean);
  'end_of_stream_without_message'?: (boolean);
  'grpc_message_compressed'?: (boolean);
}

export interface StreamedBodyResponse__Output {
  'body'?: (Buffer);
  'end_of_stream'?: (boolean);
  'end_of_stream_without_message'?: (boolean);
  'grpc_message_compressed'?: (boolean);
}

export interface TrailersResponse {
  'header_mutation'?: (HeaderMutation | null);
}

export interface TrailersResponse__Output {
  'header_mutation'?: (HeaderMutation__Output);
}

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  envoy: {
    service: {
      ext_proc: {
        v3: {
          BodyMutation: MessageTypeDefinition<BodyMutation, BodyMutation__Output>
          BodyResponse: MessageTypeDefinition<BodyResponse, BodyResponse__Output>
          CommonResponse: MessageTypeDefinition<CommonResponse, CommonResponse__Output>
          ExternalProcessor: SubtypeConstructor<typeof grpc.Client, ExternalProcessorClient> & { service: ExternalProcessorDefinition }
          GrpcStatus: MessageTypeDefinition<GrpcStatus, GrpcStatus__Output>
          HeaderMap: MessageTypeDefinition<HeaderMap, HeaderMap__Output>
          HeaderMutation: MessageTypeDefinition<HeaderMutation, HeaderMutation__Output>
          HeaderValue: MessageTypeDefinition<HeaderValue, HeaderValue__Output>
          HeaderValueOption: MessageTypeDefinition<HeaderValueOption, HeaderValueOption__Output>
          HeadersResponse: MessageTypeDefinition<HeadersResponse, HeadersResponse__Output>
          HttpBody: MessageTypeDefinition<HttpBody, HttpBody__Output>
          HttpHeaders: MessageTypeDefinition<HttpHeaders, HttpHeaders__Output>
          HttpStatus: MessageTypeDefinition<HttpStatus, HttpStatus__Output>
          HttpTrailers: MessageTypeDefinition<HttpTrailers, HttpTrailers__Output>
          ImmediateResponse: MessageTypeDefinition<ImmediateResponse, ImmediateResponse__Output>
          Metadata: MessageTypeDefinition<Metadata, Metadata__Output>
          ProcessingMode: MessageTypeDefinition<ProcessingMode, ProcessingMode__Output>
          ProcessingRequest: MessageTypeDefinition<ProcessingRequest, ProcessingRequest__Output>
          ProcessingResponse: MessageTypeDefinition<ProcessingResponse, ProcessingResponse__Output>
          ProtocolConfiguration: MessageTypeDefinition<ProtocolConfiguration, ProtocolConfiguration__Output>
          StreamedBodyResponse: MessageTypeDefinition<StreamedBodyResponse, StreamedBodyResponse__Output>
          TrailersResponse: MessageTypeDefinition<TrailersResponse, TrailersResponse__Output>
        }
      }
    }
  }
  google: {
    protobuf: {
      BoolValue: MessageTypeDefinition<BoolValue, BoolValue__Output>
      BytesValue: MessageTypeDefinition<BytesValue, BytesValue__Output>
      DoubleValue: MessageTypeDefinition<DoubleValue, DoubleValue__Output>
      Duration: MessageTypeDefinition<Duration, Duration__Output>
      FloatValue: MessageTypeDefinition<FloatValue, FloatValue__Output>
      Int32Value: MessageTypeDefinition<Int32Value, Int32Value__Output>
      Int64Value: MessageTypeDefinition<Int64Value, Int64Value__Output>
      ListValue: MessageTypeDefinition<ListValue, ListValue__Output>
      NullValue: EnumTypeDefinition
      StringValue: MessageTypeDefinition<StringValue, StringValue__Output>
      Struct: MessageTypeDefinition<Struct, Struct__Output>
      UInt32Value: MessageTypeDefinition<UInt32Value, UInt32Value__Output>
      UInt64Value: MessageTypeDefinition<UInt64Value, UInt64Value__Output>
      Value: MessageTypeDefinition<Value, Value__Output>
    }
  }
}

export interface BoolValue {
  'value'?: (boolean);
}

export interface BoolValue__Output {
  'value'?: (boolean);
}

export interface BytesValue {
  'value'?: (Buffer | Uint8Array | string);
}

export interface BytesValue__Output {
  'value'?: (Buffer);
}

export interface DoubleValue {
  'value'?: (number | string);
}

export interface DoubleValue__Output {
  'value'?: (number);
}

export interface Duration {
  'seconds'?: (number | string | Long);
  'nanos'?: (number);
}

export interface Duration__Output {
  'seconds'?: (number);
  'nanos'?: (number);
}

export interface FloatValue {
  'value'?: (number | string);
}

export interface FloatValue__Output {
  'value'?: (number);
}

export interface Int32Value {
  'value'?: (number);
}

export interface Int32Value__Output {
  'value'?: (number);
}

export interface Int64Value {
  'value'?: (number | string | Long);
}

export interface Int64Value__Output {
  'value'?: (number);
}

export interface ListValue {
  'values'?: (Value)[];
}

export interface ListValue__Output {
  'values'?: (Value__Output)[];
}

export const NullValue = {
  NULL_VALUE: 0,
} as const;

export type NullValue =
  | 'NULL_VALUE'
  | 0

export type NullValue__Output = typeof NullValue[keyof typeof NullValue]

export interface StringValue {
  'value'?: (string);
}

export interface StringValue__Output {
  'value'?: (string);
}

export interface Struct {
  'fields'?: ({[key: string]: Value});
}

export interface Struct__Output {
  'fields'?: ({[key: string]: Value__Output});
}

export interface UInt32Value {
  'value'?: (number);
}

export interface UInt32Value__Output {
  'value'?: (number);
}

export interface UInt64Value {
  'value'?: (number | string | Long);
}

export interface UInt64Value__Output {
  'value'?: (number);
}

export interface Value {
  'nullValue'?: (NullValue);
  'numberValue'?: (number | string);
  'stringValue'?: (string);
  'boolValue'?: (boolean);
  'structValue'?: (Struct | null);
  'listValue'?: (ListValue | null);
  'kind'?: "nullValue"|"numberValue"|"stringValue"|"boolValue"|"structValue"|"listValue";
}

export interface Value__Output {
  'nullValue'?: (NullValue__Output);
  'numberValue'?: (number);
  'stringValue'?: (string);
  'boolValue'?: (boolean);
  'structValue'?: (Struct__Output);
  'listValue'?: (ListValue__Output);
  'kind'?: "nullValue"|"numberValue"|"stringValue"|"boolValue"|"structValue"|"listValue";
}
