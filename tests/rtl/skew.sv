// A feeder: lane i enters the array i cycles after lane 0.
module skew #(
    parameter int W = 1,
    parameter int N = 1
) (
    input  logic         clk,
    input  logic         rst,
    input  logic         en,
    input  logic [W-1:0] d[N],
    output logic [W-1:0] q[N]
);
  logic [W-1:0] line[N][N], next[N][N]; // of lane i, registers 0..i-1 are of use
  always_comb
    for (int i = 0; i < N; i++) begin
      for (int s = 0; s < N; s++) next[i][s] = rst ? '0 : s == 0 ? d[i] : line[i][s-1];
      q[i] = i == 0 ? d[i] : line[i][i-1];
    end
  always_ff @(posedge clk) if (en || rst) line <= next;
endmodule
