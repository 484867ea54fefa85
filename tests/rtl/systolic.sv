// Both arrays, each with a clock of its own.
module systolic #(
    parameter int R = 4,
    parameter int C = 4
) (
    input  logic        rst,
    input  logic        fp,
    input  logic [15:0] a[R],

    input  logic        os_clk,
    input  logic        os_serial,
    input  logic        os_x_valid,
    output logic        os_x_ready,
    input  logic        os_x_first,
    input  logic        os_x_last,
    input  logic [15:0] os_b[C],
    output logic        os_y_valid,
    input  logic        os_y_ready,
    output logic [15:0] os_y_row,
    output logic [31:0] os_y[C],

    input  logic        ws_clk,
    input  logic        ws_preload,
    input  logic        ws_w_valid,
    output logic        ws_w_ready,
    input  logic [15:0] ws_w[C],
    input  logic        ws_x_valid,
    output logic        ws_x_ready,
    input  logic        ws_x_last,
    input  logic        ws_x_fresh,
    output logic        ws_y_valid[C],
    input  logic        ws_y_ready,
    output logic [31:0] ws_y[C]
);
  os_array #(.R(R), .C(C)) os (
      .clk(os_clk), .rst, .fp, .serial(os_serial),
      .x_valid(os_x_valid), .x_ready(os_x_ready), .x_first(os_x_first), .x_last(os_x_last),
      .a, .b(os_b),
      .y_valid(os_y_valid), .y_ready(os_y_ready), .y_row(os_y_row), .y(os_y));
  ws_array #(.R(R), .C(C)) ws (
      .clk(ws_clk), .rst, .fp, .preload(ws_preload),
      .w_valid(ws_w_valid), .w_ready(ws_w_ready), .w(ws_w),
      .x_valid(ws_x_valid), .x_ready(ws_x_ready), .x_last(ws_x_last), .x_fresh(ws_x_fresh),
      .a, .y_valid(ws_y_valid), .y_ready(ws_y_ready), .y(ws_y));
endmodule
